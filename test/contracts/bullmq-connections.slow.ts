import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { bullmqInbox, queueConnection, workerConnection } from "@svc-webhooks/bullmq";
import { createReceiver, memoryStore } from "@svc-webhooks/core";
import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { redisCommand } from "@svc-webhooks/kit/redis-command";
import {
  describeWithRedis,
  failOver,
  redisServer,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";
import { Queue } from "bullmq";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";
import { selecting } from "./contract-cases.js";

/** Registers only the cases about connections and a full storage: `bullmq-inbox.test.ts` runs the others. */
const runner = selecting({ describe, it }, /silently died|failover|full storage/);

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
      "without options",
      { queue: { maxRetriesPerRequest: null }, worker: { maxRetriesPerRequest: null } },
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

  test("a queue without options leaves a connection that was accepted and never answered", async () => {
    const proxy = await tcpProxy(primary.port);
    proxies.push(proxy);
    // A host that accepts connections, and whose programs do not run.
    const hanging = createServer();
    await once(hanging.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void hanging.close());
    const queue = new Queue("hanging", {
      connection: { host: "127.0.0.1", port: proxy.port, maxRetriesPerRequest: null },
    });
    queue.on("error", () => {});
    onTestFinished(() => queue.close());
    const inbox = bullmqInbox(queue);
    const receiver = createReceiver({
      secret,
      store: memoryStore(),
      log: () => {},
      on: { "*": inbox(() => {}) },
    });
    const send = async () => (await receiver.receive(await signed())).code;
    expect(await send()).toBe("enqueued");
    proxy.divertTo((hanging.address() as AddressInfo).port);
    proxy.abandon();
    // The first one leaves the connection that has died, and the next one goes to the host that hangs.
    for (let refused = 0; refused < 2; refused += 1) expect(await send()).toBe("queue_unavailable");
    proxy.divertTo(primary.port);
    await until(async () => (await send()) === "enqueued", "the queue stores again");
  });
});
