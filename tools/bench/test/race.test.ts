import { describe, expect, test } from "vitest";
import { judge, measured, spreadOf, type Bar, type Race } from "../src/race.js";
import { takeTurns } from "../src/turns.js";

const race = (lanes: Readonly<Record<string, readonly number[]>>): Race => ({
  title: "a race",
  unit: "µs",
  lanes: Object.entries(lanes).map(([name, values]) => ({ name, values })),
  bars: [],
});

test.each([
  [[50, 10, 40, 20, 30], { low: 20, median: 30, high: 40 }],
  [[1, 2, 3, 4], { low: 1.75, median: 2.5, high: 3.25 }],
  [[7], { low: 7, median: 7, high: 7 }],
])(
  "the spread of %j has its median and quartiles, and the rounds keep their order",
  (values, spread) => {
    const before = [...values];
    expect(spreadOf(values)).toEqual(spread);
    expect(values).toEqual(before);
  },
);

describe("the ratio to another lane", () => {
  test("is the median of the ratios of each round, not the ratio of the medians", () => {
    const lanes = race({ ours: [20, 90, 30], theirs: [10, 30, 30] });
    expect(measured(lanes, "ours", "theirs").median).toBe(2);
    expect(measured(lanes, "ours").median).toBe(30);
  });

  test("throws for a lane that does not exist", () => {
    expect(() => measured(race({ ours: [1] }), "ours", "nobody")).toThrow(
      'The race "a race" has no lane "nobody".',
    );
  });
});

const atLeast = { against: "theirs", atLeast: 0.8, aim: 1 };
const atMost = { against: "theirs", atMost: 1.5, aim: 1.2 };

test.each<[string, Omit<Bar, "lane">, number, boolean, boolean]>([
  ["a least ratio, missed", atLeast, 7, false, false],
  ["a least ratio, just kept", atLeast, 8, true, false],
  ["a least ratio, with its aim", atLeast, 10, true, true],
  ["a greatest ratio, missed", atMost, 16, false, false],
  ["a greatest ratio, just kept", atMost, 15, true, false],
  ["a greatest value, with its aim", { atMost: 15, aim: 12 }, 12, true, true],
])("a bar on %s", (_title, bar, ours, isKept, reachesAim) => {
  // The last round alone does not decide.
  const lanes = race({ ours: [ours, ours, 1_000], theirs: [10, 10, 10] });
  expect(judge(lanes, { lane: "ours", ...bar })).toMatchObject({ isKept, reachesAim });
});

test("turns go A B, then A B and B A by turns; the first of each is not recorded", async () => {
  const order: string[] = [];
  const turn = (name: string) => () => order.push(name);
  const lanes = await takeTurns({ A: turn("A"), B: turn("B") }, 2);
  expect(order.join("")).toBe("ABABBA");
  expect(lanes).toEqual([
    { name: "A", values: [3, 6] },
    { name: "B", values: [4, 5] },
  ]);
});
