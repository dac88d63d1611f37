import { expect, test } from "vitest";
import { Recorder, type Crossing } from "../src/index.js";

const crossing = (more: Partial<Crossing> = {}) => ({
  name: "charge",
  kind: "call" as const,
  effects: ["charge"],
  reads: [],
  process: "A",
  attempt: 0,
  issuedMs: 0,
  ...more,
});

test("a history has numbered crossings, steps and calls, in their order", () => {
  let ms = 0;
  const recorder = new Recorder([], () => ms);
  const { index, end } = recorder.attempt({ event: 1, n: 1, isCopy: false, process: "A" });
  const first = recorder.add(crossing());
  const second = recorder.add(crossing({ key: "k" }));
  ms = 5;
  recorder.executed(first);
  recorder.count(first, "identity");
  recorder.executed(second);
  recorder.rejected(second, "no");
  recorder.count(second, "identity");
  recorder.note("A", "continues");
  end({ status: 200, code: undefined });
  expect([first.n, second.n, index]).toEqual([1, 2, 0]);
  expect(recorder.calls).toEqual([
    { name: "charge", key: "identity", event: 1, crossing: 1 },
    { name: "charge", key: "k", event: 1, crossing: 2 },
  ]);
  expect(recorder.steps).toEqual([
    { type: "executed", ms, crossing: 1 },
    { type: "executed", ms, crossing: 2 },
    { type: "rejected", ms, crossing: 2, error: "no" },
    { type: "process", ms, process: "A", text: "continues" },
    { type: "attempt", ms, attempt: 0 },
  ]);
  expect(recorder.attempts).toMatchObject([{ startedMs: 0, endedMs: ms, status: 200 }]);
});

test("a fault is due at its point, if it can happen there, and not reached until it happens", () => {
  const recorder = new Recorder(
    [
      { kind: "response_lost", point: 2 },
      { kind: "outage", point: 3 },
    ],
    () => 0,
  );
  const first = recorder.add(crossing());
  const second = recorder.add(crossing());
  expect(recorder.faultAt(first, false)).toBeUndefined();
  const fault = recorder.faultAt(first, true);
  expect(fault).toEqual({ kind: "response_lost", point: 2 });
  // Only calls of the store can fail for a while.
  expect(recorder.faultAt(second, false)).toBeUndefined();
  expect(recorder.notReached).toBe(2);
  if (fault) recorder.strike(fault);
  expect(recorder.notReached).toBe(3);
  expect(recorder.steps).toEqual([
    { type: "fault", ms: 0, process: "A", fault: "response_lost", crossing: 1, isAfter: true },
  ]);
});

test("the source of a crossing is read only when it is needed", () => {
  let reads = 0;
  const recorder = new Recorder([], () => 0);
  const recorded = recorder.add({
    ...crossing(),
    get source() {
      reads += 1;
      return "src/orders.ts:1";
    },
  });
  expect(reads).toBe(0);
  expect([recorded.source, reads]).toEqual(["src/orders.ts:1", 1]);
});
