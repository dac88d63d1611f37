// The receiver and its queue. The server and the worker import this module.
import { createReceiver } from "svc-webhooks";
import { oncePerMinute } from "svc-webhooks/inbox";
import { pgBossInbox } from "svc-webhooks/pg-boss";
import { postgresStore } from "svc-webhooks/postgres";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { reached } from "./part.mjs";

const connectionString = process.env.DATABASE_URL;

// 16 runs, and some connections more: each transaction of a handler needs one.
export const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 1_000 });
pool.on("error", (error) => console.error("PostgreSQL:", error.message));

export const boss = new PgBoss({
  connectionString,
  connectionTimeoutMillis: 1_000,
  // Operators that other roles have created must not run with the rights of this one.
  options: "-c search_path=pg_catalog",
  // How often it looks for jobs of killed workers; default 60 s.
  superviseIntervalSeconds: 5,
  monitorIntervalSeconds: 5,
});
// An outage repeats its messages many times a second.
const log = oncePerMinute((error) => console.error("pg-boss:", error.message));
boss.on("error", log);
boss.on("warning", log);

const store = postgresStore(pool);

// The emails of an order run one at a time, in the order in which they were accepted.
export const inbox = pgBossInbox(boss, {
  queue: "orders",
  partitionBy: (event) => event.data?.order_id,
});

export const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  name: "orders",
  store,
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  on: {
    "email.delivered": inbox((event, context) =>
      store.transaction(context, async (tx) => {
        const values = [event.data.order_id, event.data.email_id];
        await tx.query("insert into order_emails (order_id, email_id) values ($1, $2)", values);
        await reached("written");
      }),
    ),
  },
});
