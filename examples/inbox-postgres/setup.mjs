// Run this when you deploy: it creates the tables of the app, the store and the queue.
import { migrate } from "svc-webhooks/postgres";
import { boss, inbox, pool } from "./webhooks.mjs";

await pool.query("create table if not exists order_emails (order_id text, email_id text)");
await migrate(pool);
await boss.start();
await inbox.setup();
await boss.stop();
await pool.end();
