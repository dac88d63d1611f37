import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { sized } from "@svc-webhooks/kit/sized";
import { untilShown } from "@svc-webhooks/kit/until-shown";
import { until } from "@svc-webhooks/kit/until";
import { openQueue } from "./queue.js";
import { runChaos, type ChaosQueue } from "./run.js";
import { postgresWorld } from "./world.js";

/** The seeds: one that every run repeats, and in full a new one. `CHAOS_SEED` replaces them. */
const seeds =
  process.env["CHAOS_SEED"]?.split(",") ?? sized(["1"], ["1", String(Date.now() % 100_000)]);

const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

/** Starts a queue whose Redis server is killed and restarted every `crashEveryMs`, until it is to be emptied. */
async function crashingQueue(
  persistence: readonly string[],
  crashEveryMs: number,
): Promise<ChaosQueue> {
  let server = await redisServer(persistence);
  let crashes = 0;
  const stopped = new AbortController();
  const { signal } = stopped;
  const crash = async () => {
    while (!signal.aborted) {
      await pause(crashEveryMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      crashes += 1;
      await server.kill();
      server = await server.restart();
    }
  };
  const crashing = crash();
  const queue = openQueue(server.port, { isPatient: true });
  onTestFinished(async () => {
    stopped.abort();
    await crashing;
    await queue.close();
    await server.close();
  });
  return {
    port: server.port,
    crashes: () => crashes,
    async emptied() {
      stopped.abort();
      await crashing;
      await until(async () => {
        const { ready, delayed, active, dead } = await queue.inbox.admin.stats();
        expect(dead).toBe(0);
        return ready + delayed + active === 0;
      }, "the queue is empty");
    },
  };
}

describeWithRedis("workers on BullMQ that are killed and frozen at random", () => {
  describeWithPostgres("with effects in PostgreSQL", () => {
    test.for(seeds)(
      "apply each acknowledged event exactly once while Redis crashes, seed %s",
      async (seed, { signal }) => {
        const load = {
          seed,
          events: Number(process.env["CHAOS_EVENTS"] ?? sized(100, 2_000)),
          atLeast: { kills: 5, freezes: 5, crashes: 1 },
          lanes: sized(32, 64),
          signal,
        };
        const world = await postgresWorld({ inTransaction: true });
        const queue = await crashingQueue(durable, 4_000);
        const { verdict, events, effects, counter, summary } = await runChaos({
          ...load,
          world,
          queue,
        });
        console.log(`${summary}\n  crashes of Redis: ${queue.crashes()}`);
        expect(queue.crashes()).toBeGreaterThan(0);
        expect([verdict.lost, effects, counter]).toEqual([[], events, events]);
      },
    );

    test("lose events if Redis does not persist them", async ({ signal }) => {
      const load = { events: sized(100, 500), atLeast: { crashes: 1 }, lanes: 64, signal };
      const { verdict } = await untilShown(
        async (seed) => {
          const world = await postgresWorld({ inTransaction: true });
          const queue = await crashingQueue(["--save", "", "--appendonly", "no"], 1_500);
          return runChaos({ ...load, seed, world, queue });
        },
        ({ verdict: { lost } }) => lost.length > 0,
      );
      expect(verdict.lost).not.toEqual([]);
    });
  });
});
