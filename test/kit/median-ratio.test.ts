import { expect, test, vi } from "vitest";
import { medianRatio } from "./median-ratio.js";

/** Returns work that takes these milliseconds, one after the other, and records its name. */
const planned = (name: string, times: readonly number[], order: string[] = []) => {
  const left = [...times];
  return async () => {
    order.push(name);
    return left.shift() ?? Number.NaN;
  };
};

test("the ratio is that of the medians, whatever single runs took", async () => {
  const work = planned("work", [900, 30, 31, 29, 30, 1, 30]);
  const base = planned("base", [10, 10, 800, 11, 9, 10, 0]);
  expect(await medianRatio(work, base)).toBe(3);
});

test("runs alternate, and so does which one is first", async () => {
  const order: string[] = [];
  const times = [1, 1, 1, 1, 1, 1, 1];
  await medianRatio(planned("work", times, order), planned("base", times, order));
  expect(order.join(" ")).toBe(
    "base work work base base work work base base work work base base work",
  );
});

test("work that returns nothing is timed", async () => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const takes = (ms: number) => async () => void (now += ms);
  const ratio = await medianRatio(takes(20), takes(2));
  clock.mockRestore();
  expect(ratio).toBe(10);
});
