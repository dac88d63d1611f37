// Kills a server in the middle of a load, starts another one on the same file, and prints what is in the file.
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
const folder = mkdtempSync(join(tmpdir(), "express-sqlite-"));
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

/** Sends one attempt. Resolves to the response, or to undefined if the server is dead. */
async function send(url, emailId) {
  const body = JSON.stringify({ type: "email.delivered", data: { email_id: emailId } });
  const headers = {
    "content-type": "application/json",
    "x-svc-delivery-id": `dlv_${emailId}`,
    "x-svc-signature": await sign(body, secret),
  };
  try {
    const response = await fetch(url, { method: "POST", headers, body });
    return { status: response.status, code: (await response.json()).status };
  } catch {
    return undefined;
  }
}

/** Calls `work` for each email, for 16 at a time. */
async function each(emailIds, work) {
  const left = [...emailIds];
  const next = async () => {
    for (let emailId = left.shift(); emailId !== undefined; emailId = left.shift()) {
      await work(emailId);
    }
  };
  await Promise.all(Array.from({ length: 16 }, next));
}

const print = (line, text) => console.log(`  ${line.padEnd(32)} ${text}`);

const emailIds = Array.from({ length: 300 }, (_, index) => `msg_${index + 1}`);
const acknowledged = new Set();

function count() {
  const db = new DatabaseSync(file);
  const rows = db.prepare("select email_id from delivered").all();
  db.close();
  const ids = new Set(rows.map((row) => row.email_id));
  print("rows in the file", rows.length);
  print("emails with two rows", rows.length - ids.size);
  print("acknowledged, but without a row", [...acknowledged].filter((id) => !ids.has(id)).length);
}

console.log("300 events arrive. Server A is killed in the transaction of the 100th.\n");
const first = await start({ DIES_AT: "100" });
await each(emailIds, async (emailId) => {
  if ((await send(first, emailId))?.status === 200) acknowledged.add(emailId);
});
count();

console.log(
  "\nServer B opens the file. The sender repeats what got no 200, and B waits for A's leases, up to 10 s.\n",
);
const second = await start();
const open = emailIds.filter((emailId) => !acknowledged.has(emailId));
await each(open, async (emailId) => {
  while ((await send(second, emailId))?.status !== 200) await pause(200);
  acknowledged.add(emailId);
});
count();

console.log("\nThe sender repeats all 300 events.\n");
let duplicates = 0;
await each(emailIds, async (emailId) => {
  if ((await send(second, emailId))?.code === "duplicate") duplicates += 1;
});
print("200 duplicate", duplicates);
count();
console.log("\nOne kill in the middle of a load: 300 events, 300 rows.");

const exited = once(server, "exit");
server.kill("SIGTERM");
await exited;
process.exit();
