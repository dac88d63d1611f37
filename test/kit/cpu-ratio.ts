export type Work = () => unknown;

const runs = 3;

async function cpuTime(work: Work): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/**
 * Returns how many times as much processor time `work` takes as `base`: the ratio of the shortest of 3 runs each, which
 * alternate. Time in which a busy machine runs other processes does not count.
 */
export async function cpuRatio(work: Work, base: Work): Promise<number> {
  let [workTime, baseTime] = [Infinity, Infinity];
  for (let run = 0; run < runs; run += 1) {
    baseTime = Math.min(baseTime, await cpuTime(base));
    workTime = Math.min(workTime, await cpuTime(work));
  }
  return workTime / baseTime;
}

/**
 * The most that `cpuRatio` may be for work that is ten times as large as its base and takes linear time: a third of what
 * quadratic time takes, and three times what linear time takes.
 */
export const linearForTenfold = 30;
