// Kills a server in a handler, starts another one on the same file, and prints what is in the file.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { sign } from "svc-webhooks";

for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const secret = "whsec_example";
const folder = mkdtempSync(join(tmpdir(), "inbox-sqlite-"));
const file = join(folder, "app.db");
const env = { ...process.env, DATABASE_FILE: file, SVC_WEBHOOK_SECRET: secret, PORT: "0" };
let server;

process.once("exit", () => {
  server?.kill("SIGKILL");
  // The server may still be creating a file, so the removal is repeated.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** Starts a server, and resolves to its URL. Its log goes to stderr. */
async function start(more = {}) {
  const path = fileURLToPath(new URL("server.mjs", import.meta.url));
  server = fork(path, { env: { ...env, ...more }, stdio: ["ignore", 2, 2, "ipc"] });
  const [message] = await Promise.race([once(server, "message"), once(server, "exit")]);
  // The server has failed, or Ctrl+C has ended it before this process.
  if (!message?.port) process.exit(1);
  return `http://127.0.0.1:${message.port}/webhooks`;
}

async function end(signal) {
  const exited = once(server, "exit");
  server.kill(signal);
  await exited;
}

const print = (line, text) => console.log(`  ${line.padEnd(24)} ${text}`);

async function send(url, emailId, orderId) {
  const data = { order_id: orderId, email_id: emailId };
  const body = JSON.stringify({ type: "email.delivered", data });
  const headers = {
    "content-type": "application/json",
    "x-svc-delivery-id": `dlv_${emailId}`,
    "x-svc-signature": await sign(body, secret),
  };
  const response = await fetch(url, { method: "POST", headers, body });
  print(`${emailId} of ${orderId}`, `${response.status} ${(await response.json()).status}`);
}

/** Calls `read` with a connection to the file. */
function look(read) {
  const db = new DatabaseSync(file);
  try {
    return read((sql) => db.prepare(sql).all());
  } finally {
    db.close();
  }
}

const countJobs = () => look((all) => all("select 1 from svc_webhooks_jobs").length);

function state() {
  const rows = look((all) => all("select * from order_emails order by rowid"));
  print("jobs in the file", countJobs());
  for (const order of ["order_7", "order_8"]) {
    const emails = rows.filter((row) => row.order_id === order).map((row) => row.email_id);
    print(`rows of ${order}`, emails.join(", ") || "none");
  }
}

console.log("Server A stores four emails, and is killed in its handler for msg_1.\n");
const first = await start({ STOPS_AT: "msg_1" });
const begun = once(server, "message");
await send(first, "msg_1", "order_7");
await begun;
await send(first, "msg_2", "order_7");
await send(first, "msg_3", "order_7");
await send(first, "msg_4", "order_8");
while (countJobs() > 3) await pause(10);
await end("SIGKILL");
state();

console.log("\nServer B opens the file. After some 10 s, it notices that A is dead.\n");
const second = await start();
while (countJobs() > 0) await pause(100);
state();

console.log("\nThe sender repeats msg_1.\n");
await send(second, "msg_1", "order_7");
state();
console.log("\nOne kill, one row for each email, and those of an order are in order.");

await end("SIGTERM");
process.exit();
