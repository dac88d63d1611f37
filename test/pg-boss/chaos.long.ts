import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { withoutLimit } from "@svc-webhooks/kit/programs";
import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { runEngineTests } from "./engine.js";
import { installed } from "./install.js";

/** The number of events of each run, and its seeds: by default, a new one. */
const env = {
  CHAOS_EVENTS: process.env["CHAOS_EVENTS"] ?? sized("100", "1000"),
  CHAOS_SEED: process.env["CHAOS_SEED"] ?? String(Date.now() % 100_000),
};

describeWithPostgres("an inbox on pg-boss", () => {
  test("runs each event once and in order", withoutLimit, async () => {
    const seeds = env.CHAOS_SEED.split(",").length;
    // The controls have a test for each seed, and one more.
    const tests = sized(seeds, 2 * seeds + 1);
    const files = sized(["chaos"], ["chaos", "controls"]);
    expect(await runEngineTests("24", await installed(), files, env)).toBe(tests);
  });
});
