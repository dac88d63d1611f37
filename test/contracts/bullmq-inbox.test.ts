import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { afterAll, beforeAll, describe, test } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";

describeWithRedis("BullMQ on Redis", () => {
  let server: Awaited<ReturnType<typeof redisServer>>;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.close());
  for (const intake of [false, true]) {
    bullmqContract({
      connection: () => {
        const connection = { host: "127.0.0.1", port: server.port, maxRetriesPerRequest: null };
        return { queue: connection, worker: connection };
      },
      abilities: { intake },
      // The cases mostly wait, so those of the second run share the time.
      runner: { describe, it: intake ? test.concurrent : test },
    });
  }
});
