import { queueConnection, workerConnection } from "@svc-webhooks/bullmq";
import { redisCommand } from "@svc-webhooks/kit/redis-command";
import {
  describeWithRedis,
  failOver,
  redisServer,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { afterEach, beforeEach, describe, it } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";
import { selecting } from "./contract-cases.js";

/** Registers only the cases about connections and a full storage: `bullmq-inbox.test.ts` runs the others. */
const runner = selecting({ describe, it }, /silently died|failover|storage that is full/);

const volatile = ["--save", "", "--appendonly", "no"];

describeWithRedis("BullMQ on Redis", () => {
  let primary: RedisServer;
  let replica: RedisServer | undefined;
  let proxies: TcpProxy[];

  beforeEach(async () => {
    primary = await redisServer(volatile);
    proxies = [];
  });
  afterEach(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await replica?.close();
    replica = undefined;
    await primary.close();
  });

  describe.each([
    // As in the README.
    ["with the options of the package", { queue: queueConnection, worker: workerConnection }],
    // What the inbox itself can reach.
    [
      "whose queue has no options",
      { queue: { maxRetriesPerRequest: null }, worker: workerConnection },
    ],
  ])("%s", (_what, options) => {
    bullmqContract({
      runner,
      abilities: { demote: true, fill: true, silence: true },
      async connection() {
        const proxy = await tcpProxy(primary.port);
        proxies.push(proxy);
        const address = { host: "127.0.0.1", port: proxy.port };
        return {
          queue: { ...address, ...options.queue },
          worker: { ...address, ...options.worker },
          silence: () => void proxy.abandon(),
          async reset() {
            await proxy.set("reset");
            await proxy.set("none");
          },
        };
      },
      server: {
        async demote() {
          replica = await failOver(primary, volatile);
          for (const proxy of proxies) proxy.divertTo(replica.port);
        },
        async fill() {
          const info = await redisCommand(primary, "INFO", "memory");
          const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
          await redisCommand(primary, "CONFIG", "SET", "maxmemory", String(used + 8 * 1_048_576));
        },
      },
    });
  });
});
