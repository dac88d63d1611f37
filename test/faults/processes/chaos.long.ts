import { expect, test } from "vitest";
import { describeWithPgBouncer, describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { eachExactlyOnce, runChaos } from "./run.js";
import { nothingWrong } from "./verdict.js";
import { postgresWorld, redisWorld } from "./world.js";

/** The seeds: three that every run repeats, and a new one. `CHAOS_SEED` replaces them. */
const seeds = process.env["CHAOS_SEED"]?.split(",") ?? [
  "1",
  "2",
  "3",
  String(Date.now() % 100_000),
];

describeWithRedis("receivers that are killed and frozen at random", () => {
  test.for(seeds)(
    "lose no event and run none twice unnecessarily, seed %s",
    async (seed, { signal }) => {
      const world = await redisWorld();
      const { verdict, summary } = await runChaos({
        seed,
        world,
        events: 5_000,
        lanes: 32,
        signal,
      });
      console.log(summary);
      expect(verdict).toMatchObject(nothingWrong);
    },
  );

  test("lose events if copies in flight get 200", async ({ signal }) => {
    const load = { seed: "1", events: 1_000, lanes: 32, signal };
    const world = await redisWorld();
    const { verdict, summary } = await runChaos({ ...load, world, inFlight: 200 });
    console.log(summary);
    expect(verdict.lost).not.toEqual([]);
    expect(verdict.early).not.toEqual([]);
  });
});

describeWithPostgres("receivers with `transaction` that are killed and frozen at random", () => {
  test.for(seeds)("apply each event exactly once, seed %s", async (seed, { signal }) => {
    const load = { seed, events: 5_000, lanes: 96, signal };
    const world = await postgresWorld({ inTransaction: true });
    const { summary, ...result } = await runChaos({ ...load, world });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(load.events));
  });

  test("apply each event exactly once while the database crashes", async ({ signal }) => {
    const load = { seed: "1", events: 2_500, lanes: 96, signal };
    const world = await postgresWorld({ inTransaction: true, fsync: "on" });
    const { summary, ...result } = await runChaos({ ...load, world, crashEveryMs: 4_000 });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(load.events));
  });

  test("apply events twice if the effects are outside of it", async ({ signal }) => {
    const load = { seed: "1", events: 2_500, lanes: 96, signal };
    const world = await postgresWorld({ inTransaction: false });
    const { verdict, effects, summary } = await runChaos({ ...load, world });
    console.log(summary);
    expect(verdict.lost).toEqual([]);
    expect(effects).toBeGreaterThan(load.events);
  });
});

describeWithPgBouncer("receivers with `transaction` behind PgBouncer", () => {
  test("apply each event exactly once", async ({ signal }) => {
    const load = { seed: "1", events: 1_500, lanes: 96, signal };
    const world = await postgresWorld({ inTransaction: true, throughPgBouncer: true });
    const { summary, ...result } = await runChaos({ ...load, world });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(load.events));
  });
});
