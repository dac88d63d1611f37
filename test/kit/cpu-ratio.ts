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

/** The greatest size that is tried, but for a ratio that is too high. */
const mostSize = 128_000;

/** The processor time of work for which no greater size is tried, in microseconds. */
const mostTime = 500_000;

/** The ratio below which no greater size is tried. Linear work of a small size hides quadratic work. */
const surelyLinear = 7;

/** Returns the lowest of three {@link fourfoldRatioOnce}, or the first that is not too high. */
export async function fourfoldRatio(workOf: (size: number) => Work): Promise<number> {
  let lowest = Infinity;
  // Other work of this process, which its time includes, may last for a whole measurement.
  for (let run = 0; run < runs && lowest >= linearForFourfold; run += 1) {
    lowest = Math.min(lowest, await fourfoldRatioOnce(workOf));
  }
  return lowest;
}

/**
 * Returns how many times as much processor time work takes for four times the size, or 0 if it never takes a measurable
 * time. The size grows while the ratio is in doubt. A ratio that is too high counts only if it is so again: for the same
 * size, in which the garbage collector may have run, and for the next one, before which there may be a step.
 */
async function fourfoldRatioOnce(workOf: (size: number) => Work): Promise<number> {
  await workOf(2_000)();
  let [base, last, lower] = [workOf(500), 0, 0];
  for (let size = 2_000; size <= (last < linearForFourfold ? 1 : 4) * mostSize; size *= 4) {
    const work = workOf(size);
    let baseTime = await cpuTime(base);
    let time = await cpuTime(work);
    // The engine may have compiled the code only now.
    baseTime = Math.min(baseTime, await cpuTime(base));
    for (
      let run = 0;
      run < runs && time < mostTime && time / baseTime >= linearForFourfold;
      run += 1
    ) {
      if (time < measurable) break;
      baseTime = Math.min(baseTime, await cpuTime(base));
      time = Math.min(time, await cpuTime(work));
    }
    base = work;
    if (time < measurable) continue;
    [lower, last] = [Math.min(last, time / baseTime), time / baseTime];
    if (last < surelyLinear) return last;
    if (lower >= linearForFourfold || time > mostTime) return last;
  }
  return lower;
}
