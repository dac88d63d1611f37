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

/** The most that `fourfoldRatio` may be for work that takes linear time, for which it is 4. For quadratic time, it is 16. */
export const linearForFourfold = 10;

/** The processor time from which a ratio is not noise, in microseconds. */
const measurable = 5_000;

/** The greatest size that is tried. */
const mostSize = 128_000;

/**
 * Returns how many times as much processor time work takes for four times the size. The size grows until the work takes
 * a measurable time; if it never does, the result is 0. A ratio that is too high counts only if it is so again: for the
 * same size, in which the garbage collector may have run, and for the next one, before which there may be a step.
 */
export async function fourfoldRatio(workOf: (size: number) => Work): Promise<number> {
  await workOf(2_000)();
  let lowest = Number.POSITIVE_INFINITY;
  let base = workOf(500);
  for (let [size, steps] = [2_000, 0]; steps < 2 && (size <= mostSize || steps === 1); size *= 4) {
    const work = workOf(size);
    let baseTime = Math.min(await cpuTime(base), await cpuTime(base));
    let time = await cpuTime(work);
    for (let run = 0; run < runs && time / baseTime >= linearForFourfold; run += 1) {
      if (time < measurable) break;
      baseTime = Math.min(baseTime, await cpuTime(base));
      time = Math.min(time, await cpuTime(work));
    }
    if (time >= measurable) {
      lowest = Math.min(lowest, time / baseTime);
      if (lowest < linearForFourfold) return lowest;
      steps += 1;
    }
    base = work;
  }
  return Number.isFinite(lowest) ? lowest : 0;
}
