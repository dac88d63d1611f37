/** Runs work of each key at most `width` at a time, in its order; keys do not wait for one another. */
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
      // The place passes to the next in line.
      const next = lane.waiting.shift();
      if (next) next();
      else {
        lane.running -= 1;
        if (lane.running === 0) lanes.delete(key);
      }
    }
  };
}
