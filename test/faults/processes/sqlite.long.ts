import { isFull, sized } from "@svc-webhooks/kit/sized";
import { describe, expect, test } from "vitest";
import { eachExactlyOnce, runChaos } from "./run.js";
import { sqliteWorld } from "./world.js";

const { SQLITE_KILLS } = process.env;

/** How many processes the first test kills. */
const kills = Number(SQLITE_KILLS ?? 40);

/** Stops a test that hangs. The restarts of killed processes take seconds each on a busy machine. */
const timeout = Math.max(1_800_000, kills * 10_000);

const newSeed = process.env["CHAOS_SEED"]?.split(",")[0] ?? String(Date.now() % 100_000);

describe("receivers with `transaction` on one SQLite file", () => {
  // The next test kills processes too.
  const seeds = SQLITE_KILLS || isFull ? [newSeed] : [];
  test.for(seeds)(
    "apply each event exactly once while they are killed, seed %s",
    { timeout },
    async (seed, { signal }) => {
      const load = { seed, events: 500, lanes: 32, signal };
      const world = sqliteWorld({ inTransaction: true });
      const run = { ...load, world, temper: ["kill"], atLeast: { kills } } as const;
      const { summary, ...result } = await runChaos(run);
      console.log(summary);
      expect(result.killed).toBeGreaterThanOrEqual(kills);
      expect(result).toMatchObject(eachExactlyOnce(result.events));
    },
  );

  test("apply each event exactly once while they are frozen too", async ({ signal }) => {
    const atLeast = { kills: 5, freezes: 5 };
    const load = { seed: newSeed, events: sized(100, 1_000), atLeast, lanes: 32, signal };
    const { summary, ...result } = await runChaos({
      ...load,
      world: sqliteWorld({ inTransaction: true }),
    });
    console.log(summary);
    expect(result).toMatchObject(eachExactlyOnce(result.events));
  });
});
