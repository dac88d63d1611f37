import { webhooks } from "svc-webhooks/express";
import express from "express";
import { report } from "./part.mjs";
import { boss, pool, receiver } from "./webhooks.mjs";

// Starts without a database too: until it is there, deliveries end as queue_unavailable (503).
void boss.start({ attempts: 1_000 });
const app = express().post("/webhooks", webhooks(receiver));
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () =>
  report({ port: server.address().port }),
);

process.once("SIGTERM", async () => {
  const closed = new Promise((resolve) => server.close(resolve));
  await receiver.drain({ deadlineMs: 20_000 });
  server.closeAllConnections();
  await closed;
  await boss.stop();
  await pool.end();
  process.exit();
});
