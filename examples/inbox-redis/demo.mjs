// Runs a server and two workers, kills one of them in its handler, and prints what is in Redis.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sign } from "svc-webhooks";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { startRedis } from "./redis.mjs";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const secret = "whsec_example";
const url = await startRedis();
const env = { ...process.env, REDIS_URL: url, SVC_WEBHOOK_SECRET: secret, PORT: "0" };
const redis = new Redis(url);
const queue = new Queue("orders", { connection: redis });

/** Starts a process, and waits for its first message. */
async function start(file, more = {}) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  // The logs of the processes go to stderr.
  const child = fork(path, { env: { ...env, ...more }, stdio: ["ignore", 2, 2, "ipc"] });
  const [message] = await once(child, "message");
  return { child, ...message };
}

async function end(child) {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

const print = (line, text) => console.log(`  ${line.padEnd(24)} ${text}`);

const text = (list) => list.join(", ") || "none";

const states = ["waiting", "active", "completed"];

async function state() {
  const counts = await queue.getJobCounts(...states);
  const jobs = states.filter((name) => counts[name] > 0).map((name) => `${counts[name]} ${name}`);
  print("jobs", text(jobs));
  print("runs", text((await redis.lrange("runs", 0, -1)).toSorted()));
  print("emails", text((await redis.hvals("emails")).toSorted()));
}

async function send(port, emailId) {
  const body = JSON.stringify({ type: "email.delivered", data: { email_id: emailId } });
  const headers = {
    "content-type": "application/json",
    "x-svc-delivery-id": `dlv_${emailId}`,
    "x-svc-signature": await sign(body, secret),
  };
  const to = `http://127.0.0.1:${port}/webhooks`;
  const response = await fetch(to, { method: "POST", headers, body });
  print(`${emailId} to the server`, `${response.status} ${(await response.json()).status}`);
}

/** Waits until this many jobs are done. */
async function done(count) {
  while ((await queue.getJobCounts("completed")).completed < count) await pause(50);
}

const web = await start("server.mjs");
console.log("The server stores two deliveries. No worker runs yet.\n");
await send(web.port, "msg_1");
await send(web.port, "msg_2");
await state();

const first = await start("worker.mjs", { STOPS_AT: "msg_1" });
await done(1);
// The run of msg_1 may be behind that of msg_2.
while ((await redis.hlen("emails")) < 2) await pause(50);
first.child.kill("SIGKILL");
await once(first.child, "exit");
console.log("\nWorker A is killed in its handler for msg_1, after the effect. msg_2 is done.\n");
await state();

console.log(
  "\nWorker B runs. BullMQ notices that A is dead, and B waits for A's lease, up to 10 s.\n",
);
const second = await start("worker.mjs");
await done(2);
await state();

console.log("\nThe sender repeats msg_1.\n");
await send(web.port, "msg_1");
await state();
console.log("\nOne kill: msg_1 ran twice, with one effect.");

await end(second.child);
await end(web.child);
process.exit();
