import { expect, test } from "vitest";
import { describeWithPgBouncer, describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { sized } from "@svc-webhooks/kit/sized";
import { eachExactlyOnce, runChaos, type Strikes } from "./run.js";
import { nothingWrong } from "./verdict.js";
import { postgresWorld, redisWorld } from "./world.js";

/** The seeds: those that every run repeats, and in full a new one. `CHAOS_SEED` replaces them. */
const seeds =
  process.env["CHAOS_SEED"]?.split(",") ??
  sized(["1"], ["1", "2", "3", String(Date.now() % 100_000)]);

/** The numbers of strikes that must have happened before a run ends, however few events that takes. */
const strikes = { kills: 5, freezes: 5, silences: 1 };

/**
 * Returns the load of a run. Strikes decide how long a small one takes, because events take much longer on a busy
 * machine: the sender repeats what comes too late.
 */
const load = (full: number, atLeast: Strikes = strikes) => ({
  events: sized(100, full),
  atLeast,
});

/** The lanes of runs with PostgreSQL. */
const lanes = sized(32, 96);

describeWithRedis("receivers that are killed and frozen at random", () => {
  test.for(seeds)(
    "lose no event and run none twice unnecessarily, seed %s",
    async (seed, { signal }) => {
      const world = await redisWorld();
      const run = { seed, ...load(5_000), lanes: 32, signal };
      const { verdict, summary } = await runChaos({ ...run, world });
      console.log(summary);
      expect(verdict).toMatchObject(nothingWrong);
    },
  );
});

describeWithPostgres("receivers with `transaction` that are killed and frozen at random", () => {
  test.for(seeds)("apply each event exactly once, seed %s", async (seed, { signal }) => {
    const run = { seed, ...load(5_000), lanes, signal };
    const world = await postgresWorld({ inTransaction: true });
    const { summary, ...result } = await runChaos({ ...run, world });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(result.events));
  });

  test("apply each event exactly once while the database crashes", async ({ signal }) => {
    const run = { seed: "1", ...load(2_500, { ...strikes, crashes: 1 }), lanes, signal };
    const world = await postgresWorld({ inTransaction: true, fsync: "on" });
    const { summary, ...result } = await runChaos({ ...run, world, crashEvery: 60 });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(result.events));
  });
});

describeWithPgBouncer("receivers with `transaction` behind PgBouncer", () => {
  test("apply each event exactly once", async ({ signal }) => {
    const run = { seed: "1", ...load(1_500), lanes, signal };
    const world = await postgresWorld({ inTransaction: true, throughPgBouncer: true });
    const { summary, ...result } = await runChaos({ ...run, world });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(result.events));
  });
});
