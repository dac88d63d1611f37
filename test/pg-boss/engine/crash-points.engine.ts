import { fileURLToPath } from "node:url";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { afterAll, beforeAll } from "vitest";
import { effectsServer, type EffectsServer } from "../../faults/crash-points/effects-server.js";
import { registerPoints } from "../../faults/crash-points/inbox/play.js";
import { bundled } from "../../faults/processes/child.js";
import { bossOf } from "./boss.js";

describeWithPostgres("a delivery in a queue of pg-boss", () => {
  let server: EffectsServer;
  let script: string;
  beforeAll(async () => {
    [server, script] = await Promise.all([
      effectsServer(),
      bundled(fileURLToPath(new URL("crash-points/process.ts", import.meta.url))),
    ]);
    // Creates the tables once, before the processes start at the same time.
    const boss = bossOf(server.connectionString);
    await boss.start();
    await boss.stop({ graceful: false });
  });
  afterAll(() => server?.close());
  registerPoints(() => ({
    script,
    pool: server.pool,
    servers: { connectionString: server.connectionString },
  }));
});
