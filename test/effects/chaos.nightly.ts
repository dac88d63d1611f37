import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { withoutLimit } from "@svc-webhooks/kit/programs";
import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { runEngineTests } from "../pg-boss/engine.js";
import { installed } from "../pg-boss/install.js";

/** The number of events of each run, and its seeds. */
const env = {
  CHAOS_EVENTS: process.env["CHAOS_EVENTS"] ?? sized("100", "2000"),
  CHAOS_SEED: process.env["CHAOS_SEED"] ?? sized("1", "1,2,3"),
};

describeWithPostgres("a row and a job in one transaction", () => {
  test(
    "are stored once while processes and the database are killed, and the controls fail",
    withoutLimit,
    async () => {
      const engines = 2;
      const controls = 3;
      expect(await runEngineTests("24", await installed(), ["chaos"], env, "effects")).toBe(
        engines * env.CHAOS_SEED.split(",").length + controls,
      );
    },
  );
});
