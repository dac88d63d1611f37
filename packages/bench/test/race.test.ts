import { describe, expect, test } from "vitest";
import { judge, speedOf, spreadOf, type Bar, type Race } from "../src/race.js";

const race = (
  better: Race["better"],
  lanes: Readonly<Record<string, readonly number[]>>,
): Race => ({
  title: "a race",
  unit: "µs",
  better,
  reference: "theirs",
  lanes: Object.entries(lanes).map(([name, values]) => ({ name, values })),
  bars: [],
});

describe("the spread of several rounds", () => {
  test("is their median and quartiles, in whatever order they came", () => {
    expect(spreadOf([50, 10, 40, 20, 30])).toEqual({ low: 20, median: 30, high: 40 });
  });

  test("lies between two values where no value is in the middle", () => {
    expect(spreadOf([1, 2, 3, 4])).toEqual({ low: 1.75, median: 2.5, high: 3.25 });
  });

  test("of one round is that round", () => {
    expect(spreadOf([7])).toEqual({ low: 7, median: 7, high: 7 });
  });

  test("leaves the rounds as they were: they are paired by their place", () => {
    const values = [3, 1, 2];
    spreadOf(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe("the speed against another lane", () => {
  test("is the median of the ratios of each round, not the ratio of the medians", () => {
    const lanes = { ours: [10, 20, 30], theirs: [20, 60, 20] };
    expect(speedOf(race("less", lanes), "ours", "theirs").median).toBe(2);
  });

  test("has no spread where every round had the same ratio, however the rounds differ", () => {
    const lanes = { ours: [10, 500, 30], theirs: [20, 1_000, 60] };
    expect(speedOf(race("less", lanes), "ours", "theirs")).toEqual({ low: 2, median: 2, high: 2 });
  });

  test("is twice as high for who needs half the time, and for who does twice as much", () => {
    const lanes = { ours: [5], theirs: [10] };
    expect(speedOf(race("less", lanes), "ours", "theirs").median).toBe(2);
    expect(speedOf(race("more", lanes), "ours", "theirs").median).toBe(0.5);
  });

  test("is not known of who has not raced", () => {
    const alone = race("less", { ours: [1] });
    expect(() => speedOf(alone, "ours", "nobody")).toThrow("a race has no lane nobody");
  });
});

describe("a promise", () => {
  const verdict = (lanes: Readonly<Record<string, readonly number[]>>, bar: Omit<Bar, "lane">) => {
    const { median, isMet, reachesAim } = judge(race("less", lanes), { lane: "ours", ...bar });
    return { median, isMet, reachesAim };
  };

  test.each([
    ["missed", [20], { median: 0.5, isMet: false, reachesAim: false }],
    ["kept to the letter", [12.5], { median: 0.8, isMet: true, reachesAim: false }],
    ["kept, and its aim reached", [10], { median: 1, isMet: true, reachesAim: true }],
  ])("of a speed is %s", (_what, ours, expected) => {
    const bar = { against: "theirs", atLeast: 0.8, aim: 1 };
    expect(verdict({ ours, theirs: [10] }, bar)).toEqual(expected);
  });

  test.each([
    ["missed", [20], { median: 2, isMet: false, reachesAim: false }],
    ["kept to the letter", [15], { median: 1.5, isMet: true, reachesAim: false }],
    ["kept, and its aim reached", [12], { median: 1.2, isMet: true, reachesAim: true }],
  ])("of a cost is %s", (_what, ours, expected) => {
    const bar = { against: "theirs", atMost: 1.5, aim: 1.2 };
    expect(verdict({ ours, theirs: [10] }, bar)).toEqual(expected);
  });

  test.each([
    ["missed", [101], { median: 101, isMet: false, reachesAim: false }],
    ["kept to the letter", [100], { median: 100, isMet: true, reachesAim: false }],
    ["kept, and its aim reached", [80], { median: 80, isMet: true, reachesAim: true }],
  ])("of a value that must not be passed is %s", (_what, ours, expected) => {
    expect(verdict({ ours }, { atMost: 100, aim: 80 })).toEqual(expected);
  });

  test("of a value that must be reached is judged the other way round", () => {
    const bar = { atLeast: 100, aim: 120 };
    expect(verdict({ ours: [99] }, bar)).toMatchObject({ isMet: false, reachesAim: false });
    expect(verdict({ ours: [120] }, bar)).toMatchObject({ isMet: true, reachesAim: true });
  });

  test("is judged by the median: one bad round breaks none", () => {
    const lanes = { ours: [10, 10, 1_000], theirs: [10, 10, 10] };
    expect(verdict(lanes, { against: "theirs", atLeast: 0.9, aim: 1 }).isMet).toBe(true);
  });
});
