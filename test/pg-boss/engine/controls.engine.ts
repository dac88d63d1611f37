import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { untilShown } from "@svc-webhooks/kit/until-shown";
import { expect, test } from "vitest";
import { eachOnce, events, seeds } from "./chaos/load.js";
import { runChaos } from "./chaos/run.js";

/** Runs that must show what `partitionBy` and `transaction` prevent: otherwise the chaos proves nothing. */
describeWithPostgres("workers on pg-boss that are killed and frozen at random", () => {
  test.for(seeds)(
    "run each event once without `partitionBy`, out of order, seed %s",
    async (seed) => {
      await untilShown(
        (own) => runChaos({ seed: `${seed}/${own}`, events, inOrder: false, strikeEvery: 60 }),
        (result) => {
          expect(result).toMatchObject(eachOnce);
          return result.outOfOrder > 0;
        },
      );
    },
  );

  test("run events twice whose effects are outside of `transaction`", async () => {
    await untilShown(
      (own) =>
        runChaos({
          seed: own,
          events,
          inOrder: false,
          inTransaction: false,
          strikeEvery: Infinity,
        }),
      (result) => {
        expect(result.lost).toBe(0);
        return result.twice > 0;
      },
    );
  });
});
