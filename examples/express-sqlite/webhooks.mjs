// The file, with the application's table and the store's, and the receiver.
import { DatabaseSync } from "@photostructure/sqlite"; // or from "node:sqlite", with Node 22.13 or newer
import { createReceiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { migrate, sqliteStore } from "svc-webhooks/sqlite";
import { written } from "./part.mjs";

export const db = new DatabaseSync(process.env.DATABASE_FILE ?? "app.db");
const store = sqliteStore(db);
migrate(db);
for (const problem of store.check()) console.error("SQLite:", problem);

// No key keeps an email from having two rows: only `transaction` does.
db.exec("create table if not exists delivered (email_id text)");
const insert = db.prepare("insert into delivered (email_id) values (?)");

export const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  name: "emails",
  store,
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  events: emailEvents,
  on: {
    "email.delivered": ({ data }, context) =>
      store.transaction(context, () => {
        insert.run(data?.email_id ?? null);
        written();
      }),
  },
});
