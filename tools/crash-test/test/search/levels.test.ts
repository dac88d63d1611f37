import { describe, expect, test } from "vitest";
import { faultKinds, randomOf, writeFaults } from "../../src/index.js";
import { baseOf, extensionsOf, sample, type Base } from "../../src/search/levels.js";

type Kind = Base["crossings"][number]["kind"] | "request";

const baseWith = (kinds: readonly Kind[], faults: Base["faults"] = []): Base => ({
  faults,
  crossings: kinds.map((kind) =>
    kind === "request" ? { kind: "call", isRequest: true, executedMs: 0 } : { kind, executedMs: 0 },
  ),
});

/** The faults before the crossing is sent and after its execution. */
const before: Readonly<Record<Kind, number>> = { store: 6, statement: 5, call: 5, request: 6 };
const after = 3;

const someKinds: readonly (readonly Kind[])[] = [
  [],
  ["call"],
  ["store"],
  ["store", "call", "store"],
  ["store", "request", "request", "store"],
  ["store", "statement", "statement", "call", "call", "store", "statement"],
];

describe("extensions of a history", () => {
  test.each(someKinds.map((kinds) => [kinds.join(" "), kinds] as const))(
    "as many as an independent count: %s",
    (_name, kinds) => {
      const count = kinds.reduce((sum, kind) => sum + before[kind] + after, 0);
      expect(extensionsOf(baseWith(kinds))).toHaveLength(count);
    },
  );

  test("add one fault at each later point", () => {
    const faults = [{ kind: "fail", point: 2 }] as const;
    const found = extensionsOf(baseWith(["store", "call", "call"], faults)).map(writeFaults);
    expect(found).toHaveLength(2 * (before.call + after));
    expect(found.every((text) => /^fail@2 \w+@[3-6]$/.test(text))).toBe(true);
    expect(new Set(found).size).toBe(found.length);
  });

  test("a second fault is never at the same point", () => {
    const found = extensionsOf(baseWith(["call"], [{ kind: "fail", point: 1 }]));
    expect(found.map(writeFaults)).toEqual([
      "fail@1 crash@2",
      "fail@1 response_lost@2",
      "fail@1 freeze@2",
    ]);
  });

  test("a crossing that was not executed has no point after its execution", () => {
    const crossings = [{ kind: "call", executedMs: undefined }] as const;
    expect(extensionsOf({ faults: [], crossings })).toHaveLength(before.call);
  });

  test("are of the wanted kinds, in the order of the report", () => {
    const found = extensionsOf(baseWith(["store", "call"]), ["outage", "response_lost", "crash"]);
    expect(found.map(writeFaults)).toEqual([
      "crash@1",
      "outage@1",
      "crash@2",
      "response_lost@2",
      "crash@3",
      "crash@4",
      "response_lost@4",
    ]);
    expect(extensionsOf(baseWith(["store"]), [])).toEqual([]);
  });

  test("a base has what the extensions need, and no more", () => {
    const base = baseOf({
      faults: [],
      crossings: [
        {
          n: 1,
          name: "charge",
          kind: "call",
          effects: ["charge"],
          reads: [],
          process: "A",
          issuedMs: 1,
          executedMs: 2,
          isRejected: false,
          isRequest: true,
          isUndone: false,
        },
      ],
      attempts: [],
      steps: [],
      calls: [],
      start: { tables: {}, observed: {} },
      end: { tables: {}, observed: {} },
      acknowledged: [],
      unseen: [],
    });
    const crossing = { kind: "call", executedMs: 2, isRequest: true };
    expect(base).toEqual({ faults: [], crossings: [crossing] });
  });
});

describe("a sample", () => {
  const items = Array.from({ length: 1920 }, (_empty, at) => at);

  test("is the same for the same seed, and another for another seed", () => {
    expect(sample(items, 500, 1)).toEqual(sample(items, 500, 1));
    expect(sample(items, 500, 1)).not.toEqual(sample(items, 500, 2));
  });

  test("has so many different items, in their order", () => {
    const chosen = sample(items, 500, 7);
    expect(new Set(chosen).size).toBe(500);
    expect(chosen).toEqual(chosen.toSorted((one, other) => one - other));
  });

  test("has all items if they fit", () => {
    expect(sample(items, 1920, 1)).toEqual(items);
    expect(sample(items, 0, 1)).toEqual([]);
  });

  test("selects each item about equally often", () => {
    const counts = items.slice(0, 20).map(() => 0);
    for (let seed = 1; seed <= 2000; seed += 1) {
      for (const at of sample(items.slice(0, 20), 5, seed)) counts[at] = (counts[at] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(400);
    expect(Math.max(...counts)).toBeLessThan(600);
  });
});

test("random numbers are the same on each machine, from 0 to 1", () => {
  const random = randomOf(1);
  expect([random(), random(), random()]).toEqual([
    0.6270739405881613, 0.002735721180215478, 0.5274470399599522,
  ]);
  const many = Array.from({ length: 10_000 }, randomOf(faultKinds.length));
  expect(many.every((value) => value >= 0 && value < 1)).toBe(true);
});
