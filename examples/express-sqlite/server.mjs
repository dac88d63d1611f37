import { webhooks } from "svc-webhooks/express";
import express from "express";
import { report } from "./part.mjs";
import { db, receiver } from "./webhooks.mjs";

const app = express().post("/webhooks", webhooks(receiver));
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () =>
  report({ port: server.address().port }),
);

let ending;
// Ctrl+C in `npm start` sends SIGINT twice, so a repeated signal does not cut the shutdown short.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (ending ??= shutDown()));

async function shutDown() {
  const deadlineMs = 20_000;
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection whose last response is sent would otherwise stay open for 5 s.
  server.keepAliveTimeout = 1;
  setTimeout(() => server.closeAllConnections(), deadlineMs);
  const left = await receiver.drain({ deadlineMs });
  if (left > 0) console.error(`${left} deliveries were interrupted; later attempts will run them.`);
  // Handlers finish before their responses are sent; the server closes after that.
  await closed;
  db.close();
  process.exit();
}
