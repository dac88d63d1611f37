import { webhooks } from "svc-webhooks/express";
import express from "express";
import { report } from "./part.mjs";
import { db, inbox, receiver } from "./webhooks.mjs";

// This process accepts events and runs them. `work` may also be in other processes of the machine.
const worker = await inbox.work(receiver, { concurrency: 16 });
for (const problem of await inbox.check()) console.error("SQLite:", problem);
const app = express().post("/webhooks", webhooks(receiver));
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () =>
  report({ port: server.address().port }),
);

let ending;
// Ctrl+C in `npm start` sends SIGINT twice, so a repeated signal does not cut the shutdown short.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (ending ??= shutDown()));

async function shutDown() {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection whose last response is sent would otherwise stay open for 5 s.
  server.keepAliveTimeout = 1;
  setTimeout(() => server.closeAllConnections(), 20_000);
  // The order matters: a receiver that drains refuses the jobs that are still taken.
  await worker.stop({ deadlineMs: 20_000 });
  await receiver.drain({ deadlineMs: 5_000 });
  // Deliveries are stored before their responses are sent; the server closes after that.
  await closed;
  db.close();
  process.exit();
}
