/**
 * Returns a function that runs jobs in order, at most `width` per key at a time. Jobs with different keys do not wait
 * for each other.
 */
export function createLanes(
  width: number,
): (key: string, work: () => Promise<void>) => Promise<void> {
  const lanes = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return async (key, work) => {
    const lane = lanes.get(key) ?? { running: 0, waiting: [] };
    lanes.set(key, lane);
    if (lane.running >= width) await new Promise<void>((resolve) => lane.waiting.push(resolve));
    else lane.running += 1;
    try {
      await work();
    } finally {
      // The slot passes to the next waiting job, so `running` does not change.
      const next = lane.waiting.shift();
      if (next) next();
      else {
        lane.running -= 1;
        if (lane.running === 0) lanes.delete(key);
      }
    }
  };
}
