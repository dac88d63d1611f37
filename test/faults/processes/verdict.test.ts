import { describe, expect, test } from "vitest";
import { judge, type Effect, type History, type Strike } from "./verdict.js";

/** The wall clock at 0 ms of the shared clock. A lease takes 1,000 ms. */
const epoch = 100_000;
const first: Effect = { deliveryId: "dlv_1", run: 1, fence: epoch + 50, pid: 11, at: 55 };
const second: Effect = { deliveryId: "dlv_1", run: 2, fence: epoch + 1_200, pid: 12, at: 1_205 };

const judged = (history: Partial<History>) =>
  judge({ effects: [first], acks: [], strikes: [], epoch, ...history });

describe("the judge of a chaos run", () => {
  test("accepts an event that was applied and then acknowledged", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_1", at: 60 }] })).toEqual({
      lost: [],
      early: [],
      fenceFell: [],
      doubles: { killed: 0, frozen: 0, unexplained: [] },
    });
  });

  test("finds an event that was acknowledged and never applied", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_2", at: 60 }] }).lost).toEqual(["dlv_2"]);
  });

  test("finds an event that was acknowledged before it was applied", () => {
    const acks = [54, 60].map((at) => ({ deliveryId: "dlv_1", at }));
    expect(judged({ acks }).early).toEqual(["dlv_1"]);
  });

  test.for([
    ["whose fence is not higher", { ...second, fence: first.fence }],
    ["with the number of another run", { ...second, run: 1 }],
  ] as const)("finds a run %s", ([_what, effect]) => {
    expect(judged({ effects: [effect, first] }).fenceFell).toEqual(["dlv_1"]);
  });

  test.for<[string, Strike, "killed" | "frozen" | "unexplained"]>([
    ["a kill after the effect", { kind: "kill", pid: 11, from: 56, to: 57 }, "killed"],
    ["a kill before the effect", { kind: "kill", pid: 11, from: 40, to: 41 }, "unexplained"],
    ["a kill of another process", { kind: "kill", pid: 12, from: 56, to: 57 }, "unexplained"],
    [
      "a kill after the second claim",
      { kind: "kill", pid: 11, from: 1_300, to: 1_301 },
      "unexplained",
    ],
    ["a freeze past the lease", { kind: "freeze", pid: 11, from: 52, to: 1_300 }, "frozen"],
    ["a freeze within the lease", { kind: "freeze", pid: 11, from: 52, to: 552 }, "unexplained"],
    ["a freeze before the claim", { kind: "freeze", pid: 11, from: -2_000, to: 49 }, "unexplained"],
    [
      "a freeze from which the process woke just before the second claim",
      { kind: "freeze", pid: 11, from: 56, to: 1_150 },
      "frozen",
    ],
    [
      "a freeze from which the process woke long before the second claim, so that its completion could arrive",
      { kind: "freeze", pid: 11, from: 56, to: 900 },
      "unexplained",
    ],
    [
      "a freeze that began so long after the effect that its completion could arrive",
      { kind: "freeze", pid: 11, from: 400, to: 1_300 },
      "unexplained",
    ],
    [
      "a kill so long after the effect that its completion could arrive",
      { kind: "kill", pid: 11, from: 400, to: 401 },
      "unexplained",
    ],
  ])("classifies a double run with %s", ([_what, strike, expected]) => {
    const { doubles } = judged({ effects: [first, second], strikes: [strike] });
    expect({ ...doubles, unexplained: doubles.unexplained.length }).toEqual({
      killed: 0,
      frozen: 0,
      unexplained: 0,
      [expected]: 1,
    });
  });

  test.for<[string, Strike, "frozen" | "unexplained"]>([
    [
      "a freeze past the lease, although the process woke long before the later claim",
      { kind: "freeze", pid: 11, from: 56, to: 1_100 },
      "frozen",
    ],
    ["a freeze within the lease", { kind: "freeze", pid: 11, from: 52, to: 552 }, "unexplained"],
    [
      "a kill so long after the effect that its completion could arrive",
      { kind: "kill", pid: 11, from: 400, to: 401 },
      "unexplained",
    ],
  ])(
    "classifies a double run with a run in between that had no effect and %s",
    ([, strike, expected]) => {
      const later: Effect = { ...second, run: 3, fence: epoch + 2_400, at: 2_405 };
      const { doubles } = judged({ effects: [first, later], strikes: [strike] });
      expect({ ...doubles, unexplained: doubles.unexplained.length }).toEqual({
        killed: 0,
        frozen: 0,
        unexplained: 0,
        [expected]: 1,
      });
    },
  );

  test.for<[string, readonly Strike[], number]>([
    ["when it wakes", [], 1],
    [
      "when it wakes, after a freeze long ago",
      [{ kind: "freeze", pid: 11, from: -900, to: -800 }],
      1,
    ],
    [
      "when it wakes again among pending requests",
      [{ kind: "freeze", pid: 11, from: -50, to: 40 }],
      0,
    ],
  ])("classifies a process that claims its own event %s", ([_what, before, unexplained]) => {
    const strikes: Strike[] = [...before, { kind: "freeze", pid: 11, from: 56, to: 1_190 }];
    const { doubles } = judged({ effects: [first, { ...second, pid: 11 }], strikes });
    expect(doubles.unexplained).toHaveLength(unexplained);
  });

  const late: Effect = { ...first, at: 1_160 };
  test.for<[string, readonly Strike[], "frozen" | "unexplained"]>([
    [
      "woke before its effect and long before the second claim, so that it could extend its lease",
      [{ kind: "freeze", pid: 11, from: 52, to: 900 }],
      "unexplained",
    ],
    [
      "froze again as soon as it woke",
      [
        { kind: "freeze", pid: 11, from: 52, to: 900 },
        { kind: "freeze", pid: 11, from: 905, to: 1_155 },
      ],
      "frozen",
    ],
    [
      "froze again, but had run for long in between",
      [
        { kind: "freeze", pid: 11, from: 52, to: 800 },
        { kind: "freeze", pid: 11, from: 1_060, to: 1_155 },
      ],
      "unexplained",
    ],
  ])("classifies a double run whose first process %s", ([_what, strikes, expected]) => {
    const { doubles } = judged({ effects: [late, second], strikes });
    expect({ frozen: doubles.frozen, unexplained: doubles.unexplained.length }).toEqual({
      frozen: 0,
      unexplained: 0,
      [expected]: 1,
    });
  });
});
