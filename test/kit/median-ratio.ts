/** Work to measure. It may return the milliseconds that it has measured itself. */
export type Measured = () => Promise<number | void>;

/** The number of runs, which is odd, so that there is a middle one. */
const runs = 7;

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const timed = async (work: Measured): Promise<number> => {
  const start = performance.now();
  const own = await work();
  return typeof own === "number" ? own : performance.now() - start;
};

/**
 * Returns how many times as long `work` takes as `base`: the ratio of the medians of 7 runs each. The runs
 * alternate, and so does the one that is first, because other work on the machine then slows both alike.
 */
export async function medianRatio(work: Measured, base: Measured): Promise<number> {
  const workTimes: number[] = [];
  const baseTimes: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    if (run % 2 === 0) baseTimes.push(await timed(base));
    workTimes.push(await timed(work));
    if (run % 2 === 1) baseTimes.push(await timed(base));
  }
  return medianOf(workTimes) / medianOf(baseTimes);
}
