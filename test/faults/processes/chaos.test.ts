import { expect, test } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { eachExactlyOnce, runChaos } from "./run.js";
import { nothingWrong } from "./verdict.js";
import { postgresWorld, redisWorld } from "./world.js";

const { CHAOS_SEED: seed = String(Date.now() % 100_000) } = process.env;

const load = { seed, events: 400, lanes: 32 };

describeWithRedis("receivers that are killed and frozen at random", () => {
  test(`lose no event and run none twice unnecessarily (CHAOS_SEED=${seed} repeats it)`, async ({
    signal,
  }) => {
    const { verdict, summary } = await runChaos({ ...load, world: await redisWorld(), signal });
    console.log(summary);
    expect(verdict).toMatchObject(nothingWrong);
  }, 60_000);
});

describeWithPostgres("receivers with `transaction` that are killed and frozen at random", () => {
  test(`apply each event exactly once (CHAOS_SEED=${seed} repeats it)`, async ({ signal }) => {
    const world = await postgresWorld({ inTransaction: true });
    const { summary, ...result } = await runChaos({ ...load, world, signal });
    console.log(summary);
    expect(result).toEqual(eachExactlyOnce(load.events));
  }, 120_000);
});
