import type { Progress } from "@svc-webhooks/kit/progress";
import { failOver, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";
import { expect, onTestFinished } from "vitest";
import { openQueue } from "./queue.js";
import type { ChaosQueue } from "./run.js";

/** The options of a Redis server that keeps what it has acknowledged. */
export const durable: readonly string[] = [
  "--save",
  "",
  "--appendonly",
  "yes",
  "--appendfsync",
  "always",
];

/** A server that the clients of a queue reach at a port. */
export interface Struck {
  readonly port: number;
  /** Disturbs the server or the connections to it. */
  readonly strike: (count: number) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Starts a queue whose server is struck after every number of steps, until it is to be emptied. */
export function struckQueue(
  { port, strike, close }: Struck,
  progress: Progress,
  every: number,
): ChaosQueue {
  let strikes = 0;
  const stopped = new AbortController();
  const { signal } = stopped;
  const striking = progress.every(every, signal, () => {
    strikes += 1;
    return strike(strikes);
  });
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
export async function crashing(persistence: readonly string[]): Promise<Struck> {
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
export async function failing(): Promise<Struck> {
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
