import { describe, expect, test } from "vitest";
import type { Call, Crossing, History, Row } from "../../src/history.js";
import { factsOf } from "../../src/judge/facts.js";
import { deviationsOf, expectedOf } from "../../src/judge/judge.js";

const crossing = (n: number, effect: string, more: Partial<Crossing> = {}): Crossing => ({
  n,
  name: effect,
  kind: "call",
  effects: [effect],
  reads: [],
  process: "A",
  attempt: 0,
  issuedMs: 0,
  executedMs: 0,
  isRejected: false,
  isUndone: false,
  ...more,
});

/** Returns an acknowledged history of one event with these calls and rows. */
const historyOf = (calls: readonly string[], orders: readonly Row[]): History => ({
  faults: [],
  crossings: calls.map((name, index) => crossing(index + 1, name)),
  attempts: [{ event: 0, n: 1, isCopy: false, process: "A", startedMs: 0, status: 200 }],
  steps: [],
  calls: calls.map((name, index): Call => ({ name, event: 0, crossing: index + 1 })),
  start: { tables: { orders: [] }, observed: {} },
  end: { tables: { orders }, observed: {} },
  acknowledged: [true],
  unseen: [],
});

const rows: readonly Row[] = [{ item: 1 }, { item: 2 }];
const undisturbed = historyOf(["mail", "mail", "charge"], rows);

describe("an acknowledged event whose effects are missing", () => {
  test.each<[string, readonly string[], readonly Row[], readonly string[]]>([
    ["is lost if all are absent", [], [], ["lost mail", "lost charge", "lost orders"]],
    ["is partial if one is present", ["charge"], [], ["partial mail", "partial orders"]],
    [
      "is partial if one of two calls took place",
      ["mail"],
      [],
      ["partial mail", "partial charge", "partial orders"],
    ],
    [
      "is partial if one of two rows exists",
      [],
      rows.slice(1),
      ["partial mail", "partial charge", "partial orders"],
    ],
    [
      "is lost if other rows replace its own, which are different",
      [],
      [{ item: 3 }, { item: 4 }],
      ["different orders", "lost mail", "lost charge"],
    ],
    ["has no finding if nothing is missing", ["mail", "mail", "charge"], rows, []],
  ])("%s", (_title, calls, orders, findings) => {
    const deviations = deviationsOf(
      historyOf(calls, orders),
      expectedOf(undisturbed, undisturbed, []),
    );
    expect(deviations.map(({ kind, effect }) => `${kind} ${effect}`)).toEqual(findings);
  });
});

describe("the facts of a history", () => {
  const history: History = {
    ...undisturbed,
    crossings: [
      crossing(1, "charge", { key: "a" }),
      crossing(2, "charge", { key: "a" }),
      crossing(3, "orders", { kind: "statement" }),
      crossing(4, "orders", { kind: "statement", isUndone: true }),
      crossing(5, "mail", { attempt: undefined }),
    ],
    calls: [
      { name: "charge", key: "a", event: 0, crossing: 1 },
      { name: "charge", key: "a", event: 0, crossing: 2 },
      { name: "mail", crossing: 5 },
    ],
  };
  const facts = factsOf(history);

  test("are indexed once", () => {
    expect(factsOf(history)).toBe(facts);
  });

  test("count each key once, and statements that were executed and not undone", () => {
    expect(facts.effects("charge")).toEqual([{ crossing: 1, event: 0 }]);
    expect(facts.effects("orders")).toEqual([{ crossing: 3, event: 0 }]);
    expect(facts.crossings("orders").map(({ n }) => n)).toEqual([3, 4]);
  });

  test("count a call whose event is unknown for each event", () => {
    expect(facts.effects("mail", 0)).toHaveLength(1);
    expect(facts.effects("mail", 1)).toHaveLength(1);
    expect(facts.effects("charge", 1)).toEqual([]);
  });

  test("have the names of calls, and whether all of a name have a key", () => {
    expect(facts.callNames).toEqual(["charge", "mail"]);
    expect([facts.isKeyed("charge"), facts.isKeyed("mail")]).toEqual([true, false]);
  });
});
