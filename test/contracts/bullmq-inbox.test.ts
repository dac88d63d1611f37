import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { afterAll, beforeAll } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";

describeWithRedis("BullMQ on Redis", () => {
  let server: Awaited<ReturnType<typeof redisServer>>;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.close());
  bullmqContract({
    connection: () => {
      const connection = { host: "127.0.0.1", port: server.port, maxRetriesPerRequest: null };
      return { queue: connection, worker: connection };
    },
  });
});
