import { expect, test } from "vitest";
import { eachOnce, runChaos } from "./chaos.js";
import { sqliteInboxWorld } from "./sqlite-world.js";

const seed = process.env["CHAOS_SEED"]?.split(",")[0] ?? String(Date.now() % 100_000);

test("an inbox in a SQLite file runs each event once and in order, while its processes are killed and frozen", async () => {
  const { summary, ...result } = await runChaos(
    { seed, events: 150, strikes: 5 },
    await sqliteInboxWorld(),
  );
  console.log(summary);
  expect(result).toEqual(eachOnce);
});
