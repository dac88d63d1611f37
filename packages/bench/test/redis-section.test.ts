import { afterEach, expect, test, vi } from "vitest";
import { describeWithRedis } from "../../../test/support/redis-server.js";
import { judge } from "../src/race.js";
import { redis } from "../src/sections/redis.js";

afterEach(() => vi.unstubAllEnvs());

test("without a redis-server the section says loudly what is missing", async () => {
  vi.stubEnv("PATH", "");
  const { races, about } = await redis({ quick: true });
  expect(races).toEqual([]);
  expect(about).toMatch(/LEFT OUT: .* redis-server is not installed/);
});

describeWithRedis("the section on Redis, quick", () => {
  test("has every race, every lane that its bars are about, and exact round trips", async () => {
    const { races } = await redis({ quick: true });
    expect(races.map(({ title }) => title)).toEqual([
      "Redis, round trips of a new delivery",
      "Redis, round trips of a duplicate",
      "Redis, MEMORY USAGE of a record",
      "Redis, 1 in flight",
      "Redis, 20 in flight",
      "Redis, 100 in flight",
    ]);
    for (const race of races) {
      expect(race.lanes.map(({ name }) => name)).toContain(race.reference);
      for (const { values } of race.lanes) expect(Math.min(...values)).toBeGreaterThan(0);
      for (const bar of race.bars) expect(judge(race, bar).median).toBeGreaterThan(0);
    }
    const valuesOf = (title: string) =>
      Object.fromEntries(
        races
          .find((race) => race.title === title)
          ?.lanes.map(({ name, values }) => [name, values]) ?? [],
      );
    expect(valuesOf("Redis, round trips of a new delivery")).toEqual({
      "by hand": [2],
      "svc-webhooks": [2],
    });
    expect(valuesOf("Redis, round trips of a duplicate")).toEqual({
      "by hand": [2],
      "svc-webhooks": [1],
    });
    expect(valuesOf("Redis, MEMORY USAGE of a record")).toMatchObject({ done: [120] });
  });
});
