import { expect, test } from "vitest";
import type { Crossing, History } from "../../src/index.js";
import { linesOf } from "../../src/report/lines.js";

const crossing = (n: number, name: string, kind: Crossing["kind"], more: Partial<Crossing> = {}) =>
  ({
    n,
    name,
    kind,
    effects: kind === "call" ? [name] : [],
    reads: [],
    process: "A",
    attempt: 0,
    issuedMs: 0,
    executedMs: 0,
    isRejected: false,
    isUndone: false,
    ...more,
  }) satisfies Crossing;

const nothing = { tables: {}, observed: {} };

const historyOf = (crossings: readonly Crossing[], more: Partial<History> = {}): History => ({
  faults: [],
  crossings,
  attempts: [
    { event: 0, n: 1, isCopy: false, process: "A", startedMs: 0, endedMs: 1, status: 200 },
  ],
  steps: crossings.map(({ n }) => ({ type: "executed", ms: 0, crossing: n })),
  calls: [],
  start: nothing,
  end: nothing,
  acknowledged: [true],
  unseen: [],
  ...more,
});

const endsOf = (history: History) => linesOf(history).map(({ from, to }) => [from, to]);

test("a call goes from its process to the store, the database, or a service", () => {
  const history = historyOf([
    crossing(1, "claim", "store"),
    crossing(2, "insert into orders", "statement", { effects: ["orders"] }),
    crossing(3, "POST api.example.com/charges", "call"),
    crossing(4, "charge", "call", { process: "B" }),
  ]);
  expect(endsOf(history)).toEqual([
    ["A", "store"],
    ["A", "database"],
    ["A", "api.example.com"],
    ["B", "charge"],
  ]);
});

test.each(["sender", "store", "database", "A", "B"])(
  "a service named %s is not the lane of that name",
  (name) => {
    expect(endsOf(historyOf([crossing(1, name, "call")]))).toEqual([["A", `${name}()`]]);
  },
);

test("an error, a lost response and the status go back, and so does a response", () => {
  const history = historyOf([crossing(1, "charge", "call")], {
    steps: [
      { type: "rejected", ms: 0, crossing: 1, error: "refused" },
      { type: "fault", ms: 0, process: "A", fault: "crash", crossing: 1, isAfter: true },
      { type: "fault", ms: 0, process: "A", fault: "crash", crossing: 1, isAfter: false },
      { type: "fault", ms: 0, process: "A", fault: "status", crossing: 1, isAfter: false },
      { type: "attempt", ms: 1, attempt: 0 },
      { type: "process", ms: 1, process: "A", text: "continues" },
    ],
  });
  expect(endsOf(history)).toEqual([
    ["charge", "A"],
    ["charge", "A"],
    ["A", "charge"],
    ["charge", "A"],
    ["A", "sender"],
    [undefined, undefined],
  ]);
});

test("an attempt without a response has no ends", () => {
  const attempts = [{ event: 0, n: 1, isCopy: false, process: "A", startedMs: 0 }];
  const steps = [{ type: "attempt", ms: 15_000, attempt: 0 }] as const;
  const [line] = linesOf(historyOf([], { attempts, steps }));
  expect(line).toEqual({
    ms: 15_000,
    who: "sender",
    text: "attempt 1: no response",
    note: undefined,
  });
});

test("the effects of a call are named, unless it was undone", () => {
  const history = historyOf([
    crossing(1, "charge", "call"),
    crossing(2, "insert into orders", "statement", { effects: ["orders"], isUndone: true }),
  ]);
  expect(linesOf(history).map(({ effects }) => effects)).toEqual([["charge"], undefined]);
});

test("an attempt that is acknowledged without the effect is marked", () => {
  const history = historyOf([crossing(1, "claim", "store"), crossing(2, "complete", "store")], {
    steps: [{ type: "attempt", ms: 1, attempt: 0 }],
  });
  const noteFor = (normal: History) => linesOf(history, normal, "charge")[0]?.note;
  expect(noteFor(historyOf([crossing(1, "charge", "call")]))).toBe("ended before charge");
  // Another event has the effect.
  const attempts = [...history.attempts, ...history.attempts.map((one) => ({ ...one, event: 1 }))];
  const ofOther = crossing(1, "charge", "call", { attempt: 1 });
  expect(noteFor(historyOf([ofOther], { attempts }))).toBeUndefined();
});

test.each([
  { what: "made the call", calls: [crossing(1, "charge", "call")], code: "processed" },
  { what: "is a duplicate", calls: [], code: "duplicate" },
])("an attempt that $what is not marked", ({ calls, code }) => {
  const normal = historyOf([crossing(1, "charge", "call")]);
  const attempts = normal.attempts.map((attempt) => ({ ...attempt, code }));
  const steps = [{ type: "attempt", ms: 1, attempt: 0 }] as const;
  const [line] = linesOf(historyOf(calls, { attempts, steps }), normal, "charge");
  expect(line?.note).toBeUndefined();
});

test("an effect is marked if the undisturbed history does not have it", () => {
  const normal = historyOf([crossing(1, "charge", "call")], {
    calls: [{ name: "charge", event: 0, crossing: 1 }],
  });
  const history = historyOf([crossing(1, "charge", "call"), crossing(2, "charge", "call")], {
    calls: [
      { name: "charge", event: 0, crossing: 1 },
      { name: "charge", event: 0, crossing: 2 },
    ],
  });
  const marks = linesOf(history, normal, "charge").map(({ note, isExtra }) => [note, isExtra]);
  expect(marks).toEqual([
    ["effect 1", undefined],
    ["effect 2: duplicate", true],
  ]);
});

test("a request that gets the status is not executed, and its line states it", () => {
  const unavailable = crossing(1, "POST api.example.com/mail", "call", {
    executedMs: undefined,
    isRequest: true,
    hasStatusFault: true,
  });
  const history = historyOf([unavailable], {
    steps: [{ type: "fault", ms: 0, process: "A", fault: "status", crossing: 1, isAfter: false }],
  });
  expect(linesOf(history).map(({ text }) => text)).toEqual([
    "status: POST api.example.com/mail responds 503, not executed",
  ]);
});
