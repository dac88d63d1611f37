import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { bundled } from "../../processes/child.js";
import { effectsServer, type EffectsServer } from "../effects-server.js";
import { registerPoints } from "./play.js";

describeWithRedis("a delivery in a queue of BullMQ", () => {
  describeWithPostgres("with effects in PostgreSQL", () => {
    let server: EffectsServer;
    let redis: RedisServer;
    let script: string;
    beforeAll(async () => {
      [server, redis, script] = await Promise.all([
        effectsServer(),
        redisServer(),
        bundled(fileURLToPath(new URL("bullmq.ts", import.meta.url))),
      ]);
    });
    afterAll(async () => {
      await server?.close();
      await redis?.close();
    });
    registerPoints(() => ({
      script,
      pool: server.pool,
      servers: { connectionString: server.connectionString, redisPort: redis.port },
    }));
  });
});
