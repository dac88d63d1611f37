import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import { watchStalls } from "./time.js";
import { exactlyOnce, judge, type Effect, type History, type Strike } from "./verdict.js";

/** The wall-clock time at 0 ms of the shared clock. */
const epoch = 100_000;
const leaseMs = 1_000;
const first: Effect = { deliveryId: "dlv_1", run: 1, fence: epoch + 50, pid: 11, at: 55 };
const second: Effect = { deliveryId: "dlv_1", run: 2, fence: epoch + 1_200, pid: 12, at: 1_205 };

const kill = (from: number, pid = first.pid): Strike => ({ kind: "kill", pid, from, to: from + 1 });
const freeze = (from: number, to: number): Strike => ({ kind: "freeze", pid: first.pid, from, to });

const judged = (history: Partial<History>) =>
  judge({ effects: [first], acks: [], strikes: [], epoch, leaseMs, ...history });

const silence = (from: number, to: number): Strike => ({ kind: "silence", pid: 0, from, to });

type Cause = "killed" | "frozen" | "silenced" | "unexplained";

/** Returns the cause given for the only second effect. */
function causeOf(strikes: readonly Strike[], effects: readonly Effect[]): Cause {
  const { killed, frozen, silenced, unexplained } = judged({ effects, strikes }).doubles;
  expect(killed + frozen + silenced + unexplained.length).toBe(1);
  if (killed === 1) return "killed";
  if (silenced === 1) return "silenced";
  return frozen === 1 ? "frozen" : "unexplained";
}

describe("the judge of a chaos run", () => {
  test("accepts an event that was applied and then acknowledged", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_1", at: 60 }] })).toEqual(exactlyOnce);
  });

  test("finds an event that was acknowledged and never applied", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_2", at: 60 }] }).lost).toEqual(["dlv_2"]);
  });

  test("finds an event that was acknowledged before it was applied", () => {
    const acks = [54, 60].map((at) => ({ deliveryId: "dlv_1", at }));
    expect(judged({ acks }).early).toEqual(["dlv_1"]);
  });

  test.each([
    ["whose fence is not higher", { ...second, fence: first.fence }],
    ["with the number of another run", { ...second, run: 1 }],
  ])("finds a run %s", (_what, effect) => {
    expect(judged({ effects: [effect, first] }).fenceFell).toEqual(["dlv_1"]);
  });

  test.each<[string, Strike, Cause]>([
    ["a kill after the effect", kill(56), "killed"],
    ["a kill before the effect", kill(40), "unexplained"],
    ["a kill of another process", kill(56, second.pid), "unexplained"],
    ["a kill after the second claim", kill(1_300), "unexplained"],
    ["a kill so long after the effect that its completion could arrive", kill(400), "unexplained"],
    ["a freeze past the lease", freeze(52, 1_300), "frozen"],
    ["a freeze within the lease", freeze(52, 552), "unexplained"],
    ["a freeze before the claim", freeze(-2_000, 49), "unexplained"],
    ["a silence less than a lease before the second claim", silence(40, 400), "silenced"],
    ["a silence that lasts", silence(40, 1_300), "silenced"],
    [
      "a silence that ended more than a lease before the second claim",
      silence(40, 190),
      "unexplained",
    ],
    ["a silence after the second claim", silence(1_300, 1_400), "unexplained"],
    [
      "a freeze from which the process woke just before the second claim",
      freeze(56, 1_150),
      "frozen",
    ],
    [
      "a freeze from which the process woke long before the second claim, so that its completion could arrive",
      freeze(56, 900),
      "unexplained",
    ],
    [
      "a freeze that began so long after the effect that its completion could arrive",
      freeze(400, 1_300),
      "unexplained",
    ],
  ])("classifies a double run with %s", (_what, strike, expected) => {
    expect(causeOf([strike], [first, second])).toBe(expected);
  });

  test.each<[string, Strike, Cause]>([
    [
      "a freeze past the lease, although the process woke long before the later claim",
      freeze(56, 1_100),
      "frozen",
    ],
    ["a freeze within the lease", freeze(52, 552), "unexplained"],
    ["a kill so long after the effect that its completion could arrive", kill(400), "unexplained"],
  ])(
    "classifies a double run with a run in between that had no effect and %s",
    (_what, strike, expected) => {
      const later = { ...second, run: 3, fence: epoch + 2_400, at: 2_405 };
      expect(causeOf([strike], [first, later])).toBe(expected);
    },
  );

  test.each<[string, readonly Strike[], Cause]>([
    ["when it wakes", [], "unexplained"],
    ["when it wakes, after a freeze long ago", [freeze(-900, -800)], "unexplained"],
    ["when it wakes again among pending requests", [freeze(-50, 40)], "frozen"],
  ])("classifies a process that claims its own event %s", (_what, before, expected) => {
    const strikes = [...before, freeze(56, 1_190)];
    expect(causeOf(strikes, [first, { ...second, pid: first.pid }])).toBe(expected);
  });

  test.each<[string, readonly Strike[], Cause]>([
    [
      "woke before its effect and long before the second claim, so that it could extend its lease",
      [freeze(52, 900)],
      "unexplained",
    ],
    ["froze again as soon as it woke", [freeze(52, 900), freeze(905, 1_155)], "frozen"],
    [
      "froze again, but had run for long in between",
      [freeze(52, 800), freeze(1_060, 1_155)],
      "unexplained",
    ],
  ])("classifies a double run whose first process %s", (_what, strikes, expected) => {
    expect(causeOf(strikes, [{ ...first, at: 1_160 }, second])).toBe(expected);
  });

  test.each<[string, readonly Strike[], Cause]>([
    ["in the silence that held its completion", [silence(40, 500), kill(490)], "killed"],
    ["long after a silence", [silence(40, 60), kill(400)], "unexplained"],
  ])("classifies a double run whose first process is killed %s", (_what, strikes, expected) => {
    const later = { ...second, fence: epoch + 2_400, at: 2_405 };
    expect(causeOf(strikes, [first, later])).toBe(expected);
  });
});

test("a process sees for how long it did not run", async () => {
  const stalls: number[] = [];
  const watch = watchStalls(100, (from, to) => stalls.push(to - from));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  await until(() => stalls.length > 0, "a stall is reported");
  clearInterval(watch);
  expect(stalls[0]).toBeGreaterThanOrEqual(150);
});
