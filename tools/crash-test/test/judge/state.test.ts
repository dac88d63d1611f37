import { cpuRatio, linearForTenfold } from "@svc-webhooks/kit/cpu-ratio";
import { describe, expect, test } from "vitest";
import type { Row, WorldState } from "../../src/index.js";
import { maskOf, partsOf, without } from "../../src/judge/state.js";

const tables = (orders: readonly Row[]): WorldState => ({ tables: { orders }, observed: {} });
const observed = (inbox: unknown): WorldState => ({ tables: {}, observed: { inbox } });
const none = new Set<string>();

describe("the mask of two undisturbed states", () => {
  test("is empty if they are equal", () => {
    const state = tables([{ id: 1, at: "now", items: [{ n: 1 }] }]);
    expect(maskOf(state, structuredClone(state))).toEqual(none);
  });

  test("has the columns that differ", () => {
    const mask = maskOf(tables([{ id: 1, at: "1" }]), tables([{ id: 1, at: "2" }]));
    expect([...mask]).toEqual(["tables.orders.at"]);
  });

  test("has the places in nested values, whatever the row", () => {
    const one = tables([{ data: { id: "a", n: 1 } }, { data: { id: "b", n: 1 } }]);
    const other = tables([{ data: { id: "c", n: 1 } }, { data: { id: "b", n: 1 } }]);
    expect([...maskOf(one, other)]).toEqual(["tables.orders.data.id"]);
  });

  test("does not depend on the order of rows", () => {
    const rows = [
      { key: "a", total: 1 },
      { key: "b", total: 2 },
      { key: "b", total: 2 },
    ];
    expect(maskOf(tables(rows), tables(rows.toReversed()))).toEqual(none);
    expect(maskOf(observed(rows), observed(rows.toReversed()))).toEqual(none);
  });

  test("has only the column that differs, whatever the order of rows", () => {
    const one = tables([
      { key: "a", total: 1, at: 1 },
      { key: "b", total: 2, at: 2 },
    ]);
    const other = tables([
      { key: "b", total: 2, at: 3 },
      { key: "a", total: 1, at: 4 },
    ]);
    expect([...maskOf(one, other)]).toEqual(["tables.orders.at"]);
  });

  test("has each column that may be the one that differs", () => {
    const one = tables([
      { key: "a", n: 1 },
      { key: "b", n: 2 },
    ]);
    const other = tables([
      { key: "b", n: 1 },
      { key: "a", n: 2 },
    ]);
    expect([...maskOf(one, other)].toSorted()).toEqual(["tables.orders.key", "tables.orders.n"]);
  });

  test("of many rows takes linear time", async () => {
    const many = (length: number, seed: number) =>
      tables(Array.from({ length }, (_, n) => ({ n, at: n * seed, text: "x".repeat(50) })));
    const compared = (length: number) => () =>
      expect([...maskOf(many(length, 1), many(length, 3))]).toEqual(["tables.orders.at"]);
    expect(await cpuRatio(compared(3_500), compared(350))).toBeLessThan(linearForTenfold);
  });

  test("has a column that only one of them has", () => {
    expect([...maskOf(tables([{ a: 1 }]), tables([{ a: 1, b: null }]))]).toEqual([
      "tables.orders.b",
    ]);
  });

  test("has all of a list whose length differs, and a value of another type", () => {
    expect([...maskOf(tables([{ a: 1 }]), tables([]))]).toEqual(["tables.orders"]);
    expect([...maskOf(observed({ a: [1] }), observed({ a: { b: 1 } }))]).toEqual([
      "observed.inbox.a",
    ]);
  });
});

describe("the parts of a state", () => {
  const textOf = (state: WorldState, mask: ReadonlySet<string> = none) =>
    [...partsOf(state, mask).values()].map(({ text }) => text).join();

  test("do not depend on the order of rows and columns", () => {
    const one = tables([
      { id: 1, n: 2 },
      { id: 2, n: 1 },
    ]);
    const other = tables([
      { n: 1, id: 2 },
      { n: 2, id: 1 },
    ]);
    expect(textOf(one)).toBe(textOf(other));
  });

  test("differ if a value, its type, or the number of equal rows differs", () => {
    expect(textOf(tables([{ n: 1 }]))).not.toBe(textOf(tables([{ n: 2 }])));
    expect(textOf(tables([{ n: 1 }]))).not.toBe(textOf(tables([{ n: "1" }])));
    expect(textOf(tables([{ n: 1 }]))).not.toBe(textOf(tables([{ n: 1 }, { n: 1 }])));
    expect(textOf(tables([{ n: null }]))).not.toBe(textOf(tables([{}])));
  });

  test("do not have what is masked, at any depth", () => {
    const mask = new Set(["tables.orders.at", "tables.orders.data.id"]);
    const row = (at: string, id: string) => tables([{ at, data: { id, n: 1 } }]);
    expect(textOf(row("1", "a"), mask)).toBe(textOf(row("2", "b"), mask));
    expect(textOf(row("1", "a"), mask)).not.toBe(
      textOf(tables([{ at: "1", data: { id: "a", n: 2 } }]), mask),
    );
  });

  test("of a table have its rows", () => {
    expect(partsOf(tables([{ b: 1, a: [2] }]), none).get("orders")?.rows).toEqual([
      '{"a":[2],"b":1}',
    ]);
  });

  test("of an observed list have its entries, and of another value none", () => {
    expect(partsOf(observed(["b", "a"]), none).get("inbox")?.rows).toEqual(['"a"', '"b"']);
    expect(partsOf(observed({ n: 1 }), none).get("inbox")).toEqual({
      rows: undefined,
      text: '{"n":1}',
    });
    expect(partsOf(observed(undefined), none).get("inbox")?.text).toBe("");
  });

  test("of a table that is masked have no difference", () => {
    const mask = maskOf(tables([{ a: 1 }]), tables([]));
    expect(textOf(tables([{ a: 1 }]), mask)).toBe(textOf(tables([]), mask));
  });

  test("of an observed list that is masked have no difference", () => {
    const mask = maskOf(observed([1]), observed([]));
    expect(textOf(observed([1]), mask)).toBe(textOf(observed([]), mask));
  });

  test("of a table and an observed value with one name are both compared", () => {
    const both = (n: number, m: number): WorldState => ({
      tables: { orders: [{ n }] },
      observed: { orders: m },
    });
    expect(textOf(both(1, 1))).not.toBe(textOf(both(2, 1)));
    expect(textOf(both(1, 1))).not.toBe(textOf(both(1, 2)));
  });
});

test("without counts how often the other list has a row", () => {
  expect(without(["a", "a", "b"], ["a"])).toEqual(["a", "b"]);
  expect(without(["a"], ["a", "b"])).toEqual([]);
  expect(without([], ["a"])).toEqual([]);
});
