import { describe, expect, test } from "vitest";
import { judge, type Effect, type History, type Strike } from "./process-verdict.js";

/** The wall clock says 100,000 when the shared one says 0. A lease takes 1,000. */
const epoch = 100_000;
const first: Effect = { deliveryId: "dlv_1", run: 1, fence: epoch + 50, pid: 11, at: 55 };
const second: Effect = { deliveryId: "dlv_1", run: 2, fence: epoch + 1_200, pid: 12, at: 1_205 };

const judged = (history: Partial<History>) =>
  judge({ effects: [first], acks: [], strikes: [], epoch, ...history });

describe("the judge of a chaos run", () => {
  test("has nothing against what was applied and then acknowledged", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_1", at: 60 }] })).toEqual({
      lost: [],
      early: [],
      fenceFell: [],
      doubles: { killed: 0, frozen: 0, unexplained: [] },
    });
  });

  test("finds what was acknowledged and never applied", () => {
    expect(judged({ acks: [{ deliveryId: "dlv_2", at: 60 }] }).lost).toEqual(["dlv_2"]);
  });

  test("finds what was acknowledged first and applied later", () => {
    const acks = [54, 60].map((at) => ({ deliveryId: "dlv_1", at }));
    expect(judged({ acks }).early).toEqual(["dlv_1"]);
  });

  test.for([
    ["whose fence is not higher", { ...second, fence: first.fence }],
    ["with the number of another one", { ...second, run: 1 }],
  ] as const)("finds a run %s", ([_what, effect]) => {
    expect(judged({ effects: [effect, first] }).fenceFell).toEqual(["dlv_1"]);
  });

  test.for<[string, Strike, "killed" | "frozen" | "unexplained"]>([
    ["a kill after the effect", { kind: "kill", pid: 11, from: 56, to: 57 }, "killed"],
    ["a kill before it", { kind: "kill", pid: 11, from: 40, to: 41 }, "unexplained"],
    ["a kill of another process", { kind: "kill", pid: 12, from: 56, to: 57 }, "unexplained"],
    [
      "a kill after the second claim",
      { kind: "kill", pid: 11, from: 1_300, to: 1_301 },
      "unexplained",
    ],
    ["a freeze past the lease", { kind: "freeze", pid: 11, from: 52, to: 1_300 }, "frozen"],
    ["a freeze within it", { kind: "freeze", pid: 11, from: 52, to: 552 }, "unexplained"],
    ["a freeze before the claim", { kind: "freeze", pid: 11, from: -2_000, to: 49 }, "unexplained"],
  ])("takes a double run with %s", ([_what, strike, expected]) => {
    const { doubles } = judged({ effects: [first, second], strikes: [strike] });
    expect({ ...doubles, unexplained: doubles.unexplained.length }).toEqual({
      killed: 0,
      frozen: 0,
      unexplained: 0,
      [expected]: 1,
    });
  });
});
