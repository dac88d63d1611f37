import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { Progress } from "@svc-webhooks/kit/progress";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { runChaos } from "./run.js";
import { crashing, durable, failing, struckQueue } from "./struck-queue.js";
import { postgresWorld } from "./world.js";

/** The seeds: one that every run repeats, and in full a new one. `CHAOS_SEED` replaces them. */
const seeds =
  process.env["CHAOS_SEED"]?.split(",") ?? sized(["1"], ["1", String(Date.now() % 100_000)]);

describeWithRedis("workers on BullMQ that are killed and frozen at random", () => {
  describeWithPostgres("with effects in PostgreSQL", () => {
    const faults = [
      ["Redis crashes", () => crashing(durable), 100],
      ["connections die and primaries are demoted", failing, 100],
    ] as const;
    test.for(faults.flatMap((fault) => seeds.map((seed) => [...fault, seed] as const)))(
      "apply each acknowledged event exactly once while %s",
      async ([, start, every, seed], { signal }) => {
        const load = {
          seed,
          events: Number(process.env["CHAOS_EVENTS"] ?? sized(100, 2_000)),
          atLeast: { kills: 5, freezes: 5, crashes: 2 },
          lanes: sized(32, 64),
          signal,
        };
        const world = await postgresWorld({ inTransaction: true });
        const progress = new Progress();
        const queue = struckQueue(await start(), progress, every);
        const { verdict, events, effects, counter, summary } = await runChaos({
          ...load,
          world,
          queue,
          progress,
        });
        console.log(`${summary}\n  strikes on Redis: ${queue.crashes()}`);
        expect(queue.crashes()).toBeGreaterThan(0);
        expect([verdict.lost, effects, counter]).toEqual([[], events, events]);
      },
    );
  });
});
