import { report } from "./part.mjs";
import { boss, inbox, pool, receiver } from "./webhooks.mjs";

const worker = await inbox.work(receiver, { concurrency: 16 });
for (const problem of await inbox.check()) console.error(problem);
report({ works: true });

process.once("SIGTERM", async () => {
  // The order matters: a receiver that drains refuses the jobs that are still fetched.
  await worker.stop({ deadlineMs: 20_000 });
  await receiver.drain({ deadlineMs: 5_000 });
  await boss.stop();
  await pool.end();
  process.exit();
});
