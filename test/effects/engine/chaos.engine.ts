import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describe, expect, test } from "vitest";
import { runChaos } from "./chaos/run.js";
import type { Point } from "./chaos/settings.js";

const events = Number(process.env["CHAOS_EVENTS"] ?? 100);
const seeds = process.env["CHAOS_SEED"]?.split(",") ?? ["1"];

/** A process is killed at each point with two of 100 orders. */
const everywhere: Readonly<Record<Point, number>> = {
  "row written": 50,
  "job stored": 50,
  committed: 50,
  "job fetched": 50,
  charged: 50,
};

describeWithPostgres("a row and a job in one transaction", () => {
  describe.each(["pg-boss", "Graphile Worker"] as const)("of %s", (variant) => {
    test.for(seeds)(
      "are stored once, and the charge has one key, while processes and the database are killed, seed %s",
      async (seed) => {
        const crashEvery = Math.min(180, events / 2);
        const strikes = everywhere;
        const result = await runChaos({ seed, variant, events, strikes, isWild: true, crashEvery });
        console.log(result.summary);
        expect(result).toMatchObject({
          acknowledged: events,
          rows: { lost: 0, twice: 0 },
          uncharged: 0,
          underTwoKeys: 0,
          beforeTheRow: 0,
        });
        expect(result.killed).toBeGreaterThan(events / 20);
        expect(result.crashes).toBeGreaterThan(0);
      },
    );
  });
});

/** Mistakes that show in no test without a kill. Each of the kills is at the point that matters, so each shows. */
describeWithPostgres("a control", () => {
  const load = { seed: "1", events: events / 5 };

  test("that sends without `db` charges under two keys", async () => {
    const strikes = { "job stored": 5 };
    const { killed, ...result } = await runChaos({ ...load, variant: "without db", strikes });
    console.log(result.summary);
    expect(result).toMatchObject({ rows: { lost: 0, twice: 0 }, uncharged: 0 });
    expect(killed).toBeGreaterThan(0);
    expect(result.underTwoKeys).toBeGreaterThanOrEqual(killed);
    expect(result.beforeTheRow).toBeGreaterThan(0);
  });

  test("that sends after the transaction does not charge", async () => {
    const strikes = { committed: 5 };
    const { killed, ...result } = await runChaos({ ...load, variant: "send after", strikes });
    console.log(result.summary);
    expect(result).toMatchObject({ rows: { lost: 0, twice: 0 }, underTwoKeys: 0 });
    expect(killed).toBeGreaterThan(0);
    expect(result.uncharged).toBeGreaterThanOrEqual(killed);
  });

  test("that charges without a key, and then writes the row, charges twice", async () => {
    const strikes = { charged: 5 };
    const { killed, ...result } = await runChaos({ ...load, variant: "charge first", strikes });
    console.log(result.summary);
    expect(result).toMatchObject({ rows: { lost: 0, twice: 0 }, uncharged: 0 });
    expect(killed).toBeGreaterThan(0);
    expect(result.underTwoKeys).toBeGreaterThanOrEqual(killed);
  });
});
