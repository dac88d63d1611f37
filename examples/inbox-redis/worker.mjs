import { Worker } from "bullmq";
import { report } from "./part.mjs";
import { inbox, log, queueRedis, receiver, redis } from "./webhooks.mjs";

const worker = new Worker("orders", inbox.processor(receiver), {
  connection: redis,
  concurrency: 16,
  ...inbox.workerOptions,
  // BullMQ notices a dead worker after both, so within a minute by default. Short times suit this demo only: a worker
  // whose event loop stops for longer than the lock loses its jobs to another one.
  lockDuration: 2_000, // default 30 s
  stalledInterval: 2_000, // default 30 s
});
worker.on("error", log);
await worker.waitUntilReady();
for (const problem of await inbox.check()) console.error(problem);
report({ works: true });

process.once("SIGTERM", async () => {
  // `close` does not resolve while Redis is gone. Jobs that are still running then run again.
  setTimeout(() => process.exit(1), 20_000);
  worker.cancelAllJobs();
  // The order matters: a receiver that drains refuses the jobs that are still fetched.
  await worker.close();
  await receiver.drain({ deadlineMs: 5_000 });
  for (const connection of [queueRedis, redis]) connection.disconnect();
  process.exit();
});
