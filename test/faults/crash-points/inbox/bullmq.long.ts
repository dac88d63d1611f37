import { fileURLToPath } from "node:url";
import { migrate } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { bundled } from "../../processes/child.js";
import { registerPoints } from "./play.js";

describeWithRedis("a delivery in a queue of BullMQ", () => {
  describeWithPostgres("with effects in PostgreSQL", () => {
    let server: PostgresServer;
    let redis: RedisServer;
    let pool: Pool;
    let script: string;
    beforeAll(async () => {
      [server, redis, script] = await Promise.all([
        postgresServer(),
        redisServer(),
        bundled(fileURLToPath(new URL("bullmq.ts", import.meta.url))),
      ]);
      pool = new Pool({ connectionString: server.connectionString });
      await migrate(pool);
      await pool.query("create table effects (delivery_id text)");
    });
    afterAll(async () => {
      await pool?.end();
      await server?.close();
      await redis?.close();
    });
    registerPoints(() => ({
      script,
      pool,
      servers: { connectionString: server.connectionString, redisPort: redis.port },
    }));
  });
});
