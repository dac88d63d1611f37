// Runs the Worker offline in Cloudflare's runtime, sends deliveries, and prints what is in its database.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { sign } from "svc-webhooks";
import { Miniflare } from "miniflare";
import { rolldown } from "rolldown";

const secret = "whsec_example";

const bundle = await rolldown({
  input: `${import.meta.dirname}/src/worker.ts`,
  platform: "browser",
  external: /^cloudflare:/,
  resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
});
const { output } = await bundle.generate();

const miniflare = new Miniflare({
  modules: true,
  script: output[0].code,
  compatibilityDate: "2025-06-01",
  bindings: { SVC_WEBHOOK_SECRET: secret },
  durableObjects: { RECORDS: { className: "DeliveryRecords", useSQLite: true } },
  d1Databases: { DB: "mail" },
  queueProducers: { QUEUE: { queueName: "mail" }, DEAD: { queueName: "mail-dead" } },
  queueConsumers: {
    mail: { maxBatchSize: 10, maxBatchTimeout: 1, maxRetries: 100, deadLetterQueue: "mail-dead" },
    "mail-dead": { maxRetries: 100 },
  },
  host: "127.0.0.1",
  port: 0,
  // Without this option, Miniflare fetches values for `request.cf` from the internet.
  cf: false,
  // The receiver logs each failed run.
  handleRuntimeStdio: () => {},
});
await miniflare.ready;
const database = await miniflare.getD1Database("DB");
for (const line of readFileSync(`${import.meta.dirname}/schema.sql`, "utf8").split("\n")) {
  if (line) await database.prepare(line).run();
}

/** @type {(line: string, text: string) => void} */
const print = (line, text) => console.log(`  ${line.padEnd(24)} ${text}`);

/** @type {(sql: string) => Promise<Record<string, unknown>[]>} */
const rows = async (sql) => (await database.prepare(sql).all()).results;

/** @type {(emailId: string) => Promise<unknown>} */
const add = (emailId) => database.prepare("insert into emails values (?, 0)").bind(emailId).run();

/** Waits until a row exists. @type {(sql: string) => Promise<Record<string, unknown>>} */
async function row(sql) {
  // Prepared once: Miniflare blocks this thread for each new statement, and that call fails now and then.
  const statement = database.prepare(sql);
  for (;;) {
    const [firstRow] = (await statement.all()).results;
    if (firstRow) return firstRow;
    await pause(100);
  }
}

/** Signs a delivery as the service does, and sends it. @type {(emailId: string) => Promise<void>} */
async function send(emailId) {
  const body = JSON.stringify({ type: "email.delivered", data: { email_id: emailId } });
  const headers = {
    "content-type": "application/json",
    "x-svc-delivery-id": `dlv_${emailId}`,
    "x-svc-signature": await sign(body, secret),
  };
  const url = "http://worker/webhooks";
  const response = await miniflare.dispatchFetch(url, { method: "POST", headers, body });
  const { status } = /** @type {{ status: string }} */ (await response.json());
  print(`${emailId} to the Worker`, `${response.status} ${status}`);
}

async function emails() {
  const all = await rows("select email_id, delivered from emails order by email_id");
  const texts = all.map(
    (email) => `${String(email.email_id)} delivered ${String(email.delivered)}x`,
  );
  print("emails", texts.join(", "));
}

console.log("The Worker stores two copies of a delivery, and runs its handler once.\n");
await add("msg_1");
await send("msg_1");
await send("msg_1");
await row("select * from emails where email_id = 'msg_1' and delivered > 0");
await emails();

console.log("\nThe handler of msg_2 fails in all three attempts.\n");
await send("msg_2");
const { error, attempts, job } = await row("select * from dead_letters");
print("dead letter", `${String(error)}, after ${String(attempts)} attempts`);

console.log("\nThe row is added, and the job of the dead letter is sent to the queue again.\n");
await add("msg_2");
const queue = await miniflare.getQueueProducer("QUEUE");
await queue.send(JSON.parse(String(job)), { contentType: "json" });
await row("select * from emails where email_id = 'msg_2' and delivered > 0");
await emails();

await miniflare.dispose();
