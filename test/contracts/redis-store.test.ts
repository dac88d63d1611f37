import { redisStore } from "@svc-webhooks/redis";
import { storeContract } from "@svc-webhooks/testing/store";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { clientKinds, clusterKinds, type TestClient } from "@svc-webhooks/kit/redis-clients";
import {
  describeWithRedis,
  redisCluster,
  redisServer,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";

/**
 * A server's clock cannot be set, so this script ages the records instead: it brings the ends of their
 * leases and retention nearer. `ARGV`: milliseconds.
 */
const age = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key) - ARGV[1]
  local start, lease, token = redis.call('GET', key):match('^(r%d+ %d+ )(%d+)( .*)$')
  if lease then
    redis.call('SET', key, start .. string.format('%d', lease - ARGV[1]) .. token, 'KEEPTTL')
  end
  redis.call('PEXPIRE', key, left)
end`;

describe.each([
  { topology: "one server", kinds: clientKinds, start: async () => [await redisServer()] },
  { topology: "a cluster of three", kinds: clusterKinds, start: redisCluster },
])("on $topology", ({ kinds, start }) => {
  for (const { name, open } of kinds) {
    describeWithRedis("the Redis store", () => {
      let servers: readonly RedisServer[] = [];
      let direct: readonly Redis[] = [];
      let client: TestClient;

      beforeAll(async () => {
        servers = await start();
        direct = servers.map(({ port }) => new Redis(port));
        client = await open(servers.map(({ port }) => port));
        await vi.waitUntil(client.isReady, { timeout: 10_000 });
      }, 60_000);

      afterAll(async () => {
        client?.close();
        for (const one of direct) one.disconnect();
        await Promise.all(servers.map((server) => server.close()));
      });

      const onAllServers = async (run: (server: Redis) => Promise<unknown>) => {
        await Promise.all(direct.map(run));
      };

      storeContract({ describe, it }, `over ${name}`, async () => {
        await onAllServers((server) => server.flushall());
        return {
          store: redisStore(client.client),
          advance: (ms) => onAllServers((server) => server.eval(age, 0, ms)),
        };
      });

      it("has run on servers that are still alive", () => {
        expect(servers.every(({ process }) => process.exitCode === null)).toBe(true);
      });
    });
  }
});
