import { describe, expect, test } from "vitest";
import { eachOnce, runChaos } from "./chaos.js";
import type { SqliteChaos } from "./sqlite-load.js";
import { sqliteInboxWorld } from "./sqlite-world.js";

const seeds = process.env["CHAOS_SEED"]?.split(",") ?? ["1", "2", "3"];
const events = Number(process.env["CHAOS_EVENTS"] ?? 2_000);

async function run(seed: string, chaos: SqliteChaos) {
  const { summary, ...result } = await runChaos(
    { seed, events, strikes: 5 },
    await sqliteInboxWorld(chaos),
  );
  console.log(summary);
  return result;
}

describe.each(["@photostructure/sqlite", "node:sqlite"] as const)("an inbox over %s", (driver) => {
  test.for(seeds)(
    "runs each event once and in order, while its processes are killed and frozen, and the file is vacuumed, seed %s",
    async (seed) => {
      const result = await run(seed, { driver, isKept: true });
      expect(result).toEqual(eachOnce);
    },
  );
});

test("without keys, events run out of order", async () => {
  const result = await run("1", { inOrder: false });
  expect(result).toMatchObject({ lost: 0, twice: 0 });
  expect(result.outOfOrder).toBeGreaterThan(0);
});

test("without transaction, effects happen twice", async () => {
  const result = await run("1", { inTransaction: false });
  expect(result.lost).toBe(0);
  expect(result.twice).toBeGreaterThan(0);
});
