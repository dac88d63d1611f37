import { expect, test } from "vitest";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { runChaos } from "./run.js";
import { nothingWrong } from "./verdict.js";

const seeds = process.env["CHAOS_SEED"]?.split(",") ?? ["1", "2", "3"];

describeWithRedis("receivers that are killed and frozen at random", () => {
  test.for(seeds)(
    "lose no event and run none twice unnecessarily, seed %s",
    async (seed, { signal }) => {
      const { verdict, summary } = await runChaos({ seed, events: 5_000, lanes: 32, signal });
      console.log(summary);
      expect(verdict).toMatchObject(nothingWrong);
    },
  );

  test("lose events if copies in flight get 200", async ({ signal }) => {
    const load = { events: 1_000, lanes: 32, signal };
    const { verdict, summary } = await runChaos({ seed: "1", inFlight: 200, ...load });
    console.log(summary);
    expect(verdict.lost).not.toEqual([]);
    expect(verdict.early).not.toEqual([]);
  });
});
