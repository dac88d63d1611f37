import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import {
  describeWithRedis,
  failOver,
  redisServer,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { sized } from "@svc-webhooks/kit/sized";
import { untilShown } from "@svc-webhooks/kit/until-shown";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";
import { openQueue } from "./queue.js";
import { runChaos, type ChaosQueue } from "./run.js";
import { postgresWorld } from "./world.js";

/** The seeds: one that every run repeats, and in full a new one. `CHAOS_SEED` replaces them. */
const seeds =
  process.env["CHAOS_SEED"]?.split(",") ?? sized(["1"], ["1", String(Date.now() % 100_000)]);

const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

/** A server that the clients of a queue reach at a port. */
interface Struck {
  readonly port: number;
  /** Disturbs the server or the connections to it. */
  readonly strike: (count: number) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Starts a queue whose server is struck every `everyMs`, until it is to be emptied. */
function struckQueue({ port, strike, close }: Struck, everyMs: number): ChaosQueue {
  let strikes = 0;
  const stopped = new AbortController();
  const { signal } = stopped;
  const strikeAgain = async () => {
    while (!signal.aborted) {
      await pause(everyMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      strikes += 1;
      await strike(strikes);
    }
  };
  const striking = strikeAgain();
  const queue = openQueue(port, { isPatient: true });
  onTestFinished(async () => {
    stopped.abort();
    await striking;
    await queue.close();
    await close();
  });
  return {
    port,
    crashes: () => strikes,
    async emptied() {
      stopped.abort();
      await striking;
      await until(async () => {
        // It rejects once for a connection that has died silently.
        const stats = await queue.inbox.admin.stats().catch(() => undefined);
        if (!stats) return false;
        const { ready, delayed, active, dead } = stats;
        expect(dead).toBe(0);
        return ready + delayed + active === 0;
      }, "the queue is empty");
    },
  };
}

/** Starts a Redis server that is killed and restarted. */
async function crashing(persistence: readonly string[]): Promise<Struck> {
  let server = await redisServer(persistence);
  return {
    port: server.port,
    async strike() {
      await server.kill();
      server = await server.restart();
    },
    close: () => server.close(),
  };
}

/** Starts a Redis server whose connections die silently, and that is demoted in favor of another one. */
async function failing(): Promise<Struck> {
  const servers = [await redisServer(durable)];
  const primary = () => servers.at(-1) as RedisServer;
  const proxy = await tcpProxy(primary().port);
  return {
    port: proxy.port,
    async strike(count) {
      if (count % 2 === 1) return proxy.abandon();
      servers.push(await failOver(primary(), durable));
      return proxy.divertTo(primary().port);
    },
    async close() {
      // Silent connections are open until they are reset.
      await proxy.set("reset");
      await proxy.close();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

describeWithRedis("workers on BullMQ that are killed and frozen at random", () => {
  describeWithPostgres("with effects in PostgreSQL", () => {
    const faults = [
      ["Redis crashes", () => crashing(durable), 4_000],
      ["connections die and primaries are demoted", failing, 6_000],
    ] as const;
    test.for(faults.flatMap((fault) => seeds.map((seed) => [...fault, seed] as const)))(
      "apply each acknowledged event exactly once while %s",
      async ([, start, everyMs, seed], { signal }) => {
        const load = {
          seed,
          events: Number(process.env["CHAOS_EVENTS"] ?? sized(100, 2_000)),
          atLeast: { kills: 5, freezes: 5, crashes: 1 },
          lanes: sized(32, 64),
          signal,
        };
        const world = await postgresWorld({ inTransaction: true });
        const queue = struckQueue(await start(), everyMs);
        const { verdict, events, effects, counter, summary } = await runChaos({
          ...load,
          world,
          queue,
        });
        console.log(`${summary}\n  strikes on Redis: ${queue.crashes()}`);
        expect(queue.crashes()).toBeGreaterThan(0);
        expect([verdict.lost, effects, counter]).toEqual([[], events, events]);
      },
    );

    test("lose events if Redis does not persist them", async ({ signal }) => {
      const load = { events: sized(100, 500), atLeast: { crashes: 1 }, lanes: 64, signal };
      const { verdict } = await untilShown(
        async (seed) => {
          const world = await postgresWorld({ inTransaction: true });
          const volatile = ["--save", "", "--appendonly", "no"];
          const queue = struckQueue(await crashing(volatile), 1_500);
          return runChaos({ ...load, seed, world, queue });
        },
        ({ verdict: { lost } }) => lost.length > 0,
      );
      expect(verdict.lost).not.toEqual([]);
    });
  });
});
