import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "./until.js";

test("a condition may take any time, because a busy machine needs it", async () => {
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 600_000));
  onTestFinished(() => clock.mockRestore());
  let polls = 0;
  await until(() => (polls += 1) === 5, "the fifth poll");
  expect(polls).toBe(5);
});
