import { fileURLToPath } from "node:url";
import { migrate } from "@svc-webhooks/postgres";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import { registerPoints } from "../../faults/crash-points/inbox/play.js";
import { bundled } from "../../faults/processes/child.js";
import { bossOf } from "./boss.js";

describeWithPostgres("a delivery in a queue of pg-boss", () => {
  let server: PostgresServer;
  let pool: Pool;
  let script: string;
  beforeAll(async () => {
    [server, script] = await Promise.all([
      postgresServer(),
      bundled(fileURLToPath(new URL("crash-points/process.ts", import.meta.url))),
    ]);
    pool = new Pool({ connectionString: server.connectionString });
    await migrate(pool);
    await pool.query("create table effects (delivery_id text)");
    // Creates the tables once, before the processes start at the same time.
    const boss = bossOf(server.connectionString);
    await boss.start();
    await boss.stop({ graceful: false });
  });
  afterAll(async () => {
    await pool?.end();
    await server?.close();
  });
  registerPoints(() => ({
    script,
    pool,
    servers: { connectionString: server.connectionString },
  }));
});
