import { redisStore } from "@svc-webhooks/redis";
import { storeContract } from "@svc-webhooks/testing/store";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClientKind, TestClient } from "@svc-webhooks/kit/redis-clients";
import { describeWithRedis, type RedisServer } from "@svc-webhooks/kit/redis-server";
import type { TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";

/**
 * A script that ages records by moving the ends of their leases and retention closer, because a server's clock cannot
 * be set. `ARGV`: milliseconds.
 */
export const age = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key) - ARGV[1]
  local start, lease, token = redis.call('GET', key):match('^(r%d+ %d+ )(%d+)( .*)$')
  if lease then
    redis.call('SET', key, start .. string.format('%d', lease - ARGV[1]) .. token, 'KEEPTTL')
  end
  redis.call('PEXPIRE', key, left)
end`;

/** The servers that the contract runs on, and how clients reach them. */
export interface Topology {
  /** The servers that hold the records. */
  readonly servers: readonly RedisServer[];
  /** The ports that clients connect to. */
  readonly ports: readonly number[];
  /** Proxies between clients and servers, whose connections can be abandoned. Required if `abandons` is set. */
  readonly proxies?: readonly TcpProxy[];
  /** Called once the client is connected. */
  readonly disturb?: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Runs the contract with each client, each on its own servers. */
export function redisContract(
  kinds: readonly ClientKind[],
  start: () => Promise<Topology>,
  { abandons = false }: { readonly abandons?: boolean } = {},
): void {
  for (const { name, open } of kinds) {
    describeWithRedis("the Redis store", () => {
      let topology: Topology | undefined;
      let direct: readonly Redis[] = [];
      let client: TestClient | undefined;

      beforeAll(async () => {
        topology = await start();
        client = await open(topology.ports);
        const { isReady } = client;
        await until(isReady, "the client is connected");
        await topology.disturb?.();
        const store = redisStore(client.client);
        // The keys are spread over all nodes.
        const forgetAll = async () => {
          for (let key = 0; key < 50; key += 1) {
            await store.forget(String(key), { signal: AbortSignal.timeout(1_000) });
          }
          return true;
        };
        await until(() => forgetAll().catch(() => false), "the client uses all servers");
        direct = topology.servers.map(({ port }) => new Redis(port));
      });

      afterAll(async () => {
        client?.close();
        for (const one of direct) one.disconnect();
        await topology?.close();
      });

      const onAllServers = async (run: (server: Redis) => Promise<unknown>) => {
        await Promise.all(direct.map(run));
      };
      const makeStore = async () => {
        if (!client) throw new Error("`beforeAll` has failed.");
        await onAllServers((server) => server.flushall());
        return {
          store: redisStore(client.client),
          advance: (ms: number) => onAllServers((server) => server.eval(age, 0, ms)),
        };
      };
      const abandon = () => {
        for (const proxy of topology?.proxies ?? []) proxy.abandon({ loses: "replies" });
      };
      storeContract({ describe, it }, `over ${name}`, makeStore, abandons ? { abandon } : {});

      it("has run on servers that are still alive", () => {
        expect(topology?.servers.every(({ process }) => process.exitCode === null)).toBe(true);
      });
    });
  }
}
