import { webhooks } from "svc-webhooks/express";
import express from "express";
import { report } from "./part.mjs";
import { queue, queueRedis, receiver, redis } from "./webhooks.mjs";

await queue.waitUntilReady();
const app = express().post("/webhooks", webhooks(receiver));
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () =>
  report({ port: server.address().port }),
);

process.once("SIGTERM", async () => {
  const closed = new Promise((resolve) => server.close(resolve));
  await receiver.drain({ deadlineMs: 20_000 });
  server.closeAllConnections();
  await closed;
  for (const connection of [queueRedis, redis]) connection.disconnect();
  process.exit();
});
