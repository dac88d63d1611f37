import { expect, test } from "vitest";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { runChaos } from "./run.js";
import { nothingWrong } from "./verdict.js";

const { CHAOS_SEED: seed = String(Date.now() % 100_000) } = process.env;

describeWithRedis("receivers that are killed and frozen at random", () => {
  test(`lose no event and run none twice unnecessarily (CHAOS_SEED=${seed} repeats it)`, async ({
    signal,
  }) => {
    const { verdict, summary } = await runChaos({ seed, events: 400, lanes: 32, signal });
    console.log(summary);
    expect(verdict).toMatchObject(nothingWrong);
  }, 60_000);
});
