// The file, with the application's table, the records and the queue, and the receiver.
import { DatabaseSync } from "@photostructure/sqlite"; // or from "node:sqlite", with Node 22.13 or newer
import { createReceiver } from "svc-webhooks";
import { migrate, sqliteInbox, sqliteStore } from "svc-webhooks/sqlite";
import { begun } from "./part.mjs";

export const db = new DatabaseSync(process.env.DATABASE_FILE ?? "app.db");
const store = sqliteStore(db);

// The emails of an order run one at a time, in the order in which they were accepted.
export const inbox = sqliteInbox(db, { partitionBy: (event) => event.data?.order_id });
migrate(db);

// No key keeps an email from having two rows: only `transaction` does.
db.exec("create table if not exists order_emails (order_id text, email_id text)");
const insert = db.prepare("insert into order_emails (order_id, email_id) values (?, ?)");

export const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  name: "orders",
  store,
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  on: {
    "email.delivered": inbox(async ({ data }, context) => {
      await begun(data.email_id); // slow work, such as a call of another service
      store.transaction(context, () => insert.run(data.order_id, data.email_id));
    }),
  },
});
