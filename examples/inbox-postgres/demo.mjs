// Runs a server and two workers, kills one of them in its handler, and prints what is in the database.
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sign } from "svc-webhooks";
import { Pool } from "pg";

const secret = "whsec_example";
const name = `svc_webhooks_inbox_${process.pid}`;
const serverUrl = process.env.DATABASE_URL ?? "postgres://localhost/postgres";
const own = new URL(serverUrl);
own.pathname = name;
const env = { ...process.env, DATABASE_URL: own.href, SVC_WEBHOOK_SECRET: secret, PORT: "0" };
const fileOf = (file) => fileURLToPath(new URL(file, import.meta.url));

const server = new Pool({ connectionString: serverUrl });
await server.query(`create database ${name}`);
execFileSync(process.execPath, [fileOf("setup.mjs")], { env, stdio: "inherit" });
const pool = new Pool({ connectionString: own.href });

/** Starts a process, and waits for its first message. */
async function start(file, more = {}) {
  const child = fork(fileOf(file), { env: { ...env, ...more } });
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

async function state() {
  const { rows: jobs } = await pool.query(
    "select state, count(*) from pgboss.job where name = 'orders' group by state",
  );
  const { rows: emails } = await pool.query("select email_id from order_emails");
  print("jobs", text(jobs.map((group) => `${group.count} ${group.state}`)));
  print("order_emails", text(emails.map((email) => email.email_id)));
}

async function send(port, emailId) {
  const data = { order_id: "order_7", email_id: emailId };
  const body = JSON.stringify({ type: "email.delivered", data });
  const headers = {
    "content-type": "application/json",
    "x-svc-delivery-id": `dlv_${emailId}`,
    "x-svc-signature": await sign(body, secret),
  };
  const url = `http://127.0.0.1:${port}/webhooks`;
  const response = await fetch(url, { method: "POST", headers, body });
  print(`${emailId} to the server`, `${response.status} ${(await response.json()).status}`);
}

const web = await start("server.mjs");
// pg-boss may need a moment to connect.
while ((await fetch(`http://127.0.0.1:${web.port}/`)).status !== 404) await pause(50);
await pause(500);
console.log("The server stores two deliveries. No worker runs yet.\n");
await send(web.port, "msg_1");
await send(web.port, "msg_2");
await state();

const first = await start("worker.mjs", { STOPS_AT: "written" });
await once(first.child, "message");
first.child.kill("SIGKILL");
await once(first.child, "exit");
console.log(
  "\nWorker A is killed in its handler: the row of msg_1 is written but not committed.\n",
);
await state();

console.log(
  "\nWorker B runs. After some 10 s, pg-boss notices that A is dead, and B runs its job.\n",
);
const second = await start("worker.mjs");
const isDone = async () =>
  (await pool.query("select 1 from order_emails")).rows.length >= 2 &&
  (await pool.query("select 1 from pgboss.job where name = 'orders' and state = 'active'")).rows
    .length === 0;
while (!(await isDone())) await pause(100);
await state();

console.log("\nThe sender repeats msg_1.\n");
await send(web.port, "msg_1");
await pause(1_000);
await state();
console.log("\nOne kill, one effect each, in order: msg_2 waited for msg_1.");

await end(second.child);
await end(web.child);
await pool.end();
await server.query(`drop database ${name} with (force)`);
await server.end();
