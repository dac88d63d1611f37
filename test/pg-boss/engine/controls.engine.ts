import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { expect, test } from "vitest";
import { eachOnce, events, seeds } from "./chaos/load.js";
import { runChaos } from "./chaos/run.js";

/** Runs that must show what `partitionBy` and `transaction` prevent: otherwise the chaos proves nothing. */
describeWithPostgres("workers on pg-boss that are killed and frozen at random", () => {
  test.for(seeds)(
    "run each event once without `partitionBy`, out of order, seed %s",
    async (seed) => {
      const result = await runChaos({ seed, events, inOrder: false, crashEveryMs: 6_000 });
      console.log(result.summary);
      expect(result).toMatchObject(eachOnce);
      expect(result.outOfOrder).toBeGreaterThan(0);
    },
  );

  test("run events twice whose effects are outside of `transaction`", async () => {
    const result = await runChaos({ seed: "1", events, inOrder: false, inTransaction: false });
    console.log(result.summary);
    expect(result.lost).toBe(0);
    expect(result.twice).toBeGreaterThan(0);
  });
});
