import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { expect, test } from "vitest";
import { eachOnce, events, seeds } from "./chaos/load.js";
import { runChaos } from "./chaos/run.js";

describeWithPostgres("workers on pg-boss that are killed and frozen at random", () => {
  test.for(seeds)(
    "run each event once and in order, while the database crashes and connections die, seed %s",
    async (seed) => {
      const result = await runChaos({ seed, events, strikes: 5, inOrder: true, strikeEvery: 50 });
      console.log(result.summary);
      expect(result).toMatchObject({ ...eachOnce, outOfOrder: 0 });
    },
  );
});
