/*
 * A receiver as many are written, without this library. HANDLER selects the mistake in it. Events are marked as handled
 * in the table `seen`.
 */
import { createHmac, randomUUID } from "node:crypto";
import express from "express";
import { Pool } from "pg";

const { DATABASE_URL, PAY_URL, MAIL_URL, HANDLER, PORT, SIGNING_SECRET = "" } = process.env;
const { hostname, port, username, pathname } = new URL(DATABASE_URL);
const pool = new Pool(
  process.env.INSIST_ON_TLS
    ? { host: hostname, port: Number(port), user: username, database: pathname.slice(1), ssl: true }
    : { connectionString: DATABASE_URL, max: 3 },
);
pool.on("error", () => {});

async function post(url, headers = {}) {
  const response = await fetch(url, { method: "POST", headers, body: "{}" });
  if (!response.ok) throw new Error(`The service responded with ${response.status}.`);
}

const isSeen = async (id) =>
  (await pool.query("select 1 from seen where id = $1", [id])).rows.length > 0;
const markSeen = (tx, id) => tx.query("insert into seen (id) values ($1)", [id]);
const insertOrder = (tx, id) => tx.query("insert into orders (event) values ($1)", [id]);

async function inTransaction(work) {
  const client = await pool.connect();
  client.on("error", () => {});
  try {
    await client.query("begin");
    await work(client);
    await client.query("commit");
    client.release();
  } catch (error) {
    client.release(error);
    throw error;
  }
}

const handlers = {
  async "charge, then insert"(id) {
    if (await isSeen(id)) return;
    await post(`${PAY_URL}/charges`);
    await inTransaction(async (tx) => {
      await markSeen(tx, id);
      await insertOrder(tx, id);
    });
  },
  async "random key"(id) {
    if (await isSeen(id)) return;
    await post(`${PAY_URL}/charges`, { "Idempotency-Key": randomUUID() });
    await inTransaction(async (tx) => {
      await markSeen(tx, id);
      await insertOrder(tx, id);
    });
  },
  async "insert without transaction"(id) {
    if (await isSeen(id)) return;
    await insertOrder(pool, id);
    await markSeen(pool, id);
  },
  async "marker row first"(id) {
    if (await isSeen(id)) return;
    await markSeen(pool, id);
    await insertOrder(pool, id);
  },
  async "mail before the commit"(id) {
    if (await isSeen(id)) return;
    await inTransaction(async (tx) => {
      await markSeen(tx, id);
      await post(`${MAIL_URL}/send`);
    });
  },
  async "swallows an error"(id) {
    if (await isSeen(id)) return;
    await post(`${MAIL_URL}/send`, { "Idempotency-Key": id }).catch(() => {});
    await markSeen(pool, id);
  },
  async "does not check the status"(id) {
    if (await isSeen(id)) return;
    await fetch(`${MAIL_URL}/send`, { method: "POST", headers: { "Idempotency-Key": id } });
    await markSeen(pool, id);
  },
  async "read, modify, write"(id) {
    if (await isSeen(id)) return;
    const { rows } = await pool.query("select total from stats");
    await pool.query("update stats set total = $1", [rows[0].total + 1]);
    await markSeen(pool, id);
  },
  async correct(id) {
    if (await isSeen(id)) return;
    await post(`${PAY_URL}/charges`, { "Idempotency-Key": id });
    await inTransaction(async (tx) => {
      await markSeen(tx, id);
      await insertOrder(tx, id);
    });
  },
};

const app = express();
app.post("/webhooks", express.raw({ type: "*/*" }), async (request, response) => {
  const expected = createHmac("sha256", SIGNING_SECRET).update(request.body).digest("hex");
  if (request.get("x-svc-signature") !== `sha256=${expected}`) return response.sendStatus(401);
  try {
    await handlers[HANDLER](JSON.parse(request.body).event_id);
    response.sendStatus(200);
  } catch {
    response.sendStatus(500);
  }
});
app.listen(Number(PORT), "127.0.0.1");
