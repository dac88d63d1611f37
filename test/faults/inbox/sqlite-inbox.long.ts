import { expect, test } from "vitest";
import { runChaos } from "./chaos.js";
import { sqliteInboxWorld } from "./sqlite-world.js";

const seed = process.env["CHAOS_SEED"]?.split(",")[0] ?? String(Date.now() % 100_000);

test("an inbox in a SQLite file runs each event once and in order, while its processes are killed and frozen", async () => {
  const { summary, ...result } = await runChaos(
    { seed, events: 150, strikes: 5 },
    await sqliteInboxWorld(),
  );
  console.log(summary);
  expect(result).toEqual({ lost: 0, twice: 0, outOfOrder: 0, left: 0, dead: [] });
});
