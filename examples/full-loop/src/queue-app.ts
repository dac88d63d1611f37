// The app of the last scene, as a process that the scene can kill. It stores deliveries in a SQLite file.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "@photostructure/sqlite";
import { createReceiver } from "svc-webhooks";
import { webhooks } from "svc-webhooks/express";
import { migrate, sqliteInbox, sqliteStore } from "svc-webhooks/sqlite";
import express from "express";

/** The part of an event that the app reads. */
interface EmailEvent {
  readonly data: { readonly subject: string };
}

const { DATABASE_FILE = "", PORT, WORKS } = process.env;
const secrets: { id: string; key: string }[] = [];
const db = new DatabaseSync(DATABASE_FILE);
const store = sqliteStore(db);
const inbox = sqliteInbox(db, { partitionBy: (event) => event.type });
migrate(db);
db.exec("create table if not exists delivered (subject text)");
const insert = db.prepare("insert into delivered (subject) values (?)");

const receiver = createReceiver({
  name: "receipts",
  secret: () => secrets,
  store,
  on: {
    "email.delivered": inbox((event, context) => {
      const { subject } = (event as unknown as EmailEvent).data;
      store.transaction(context, () => void insert.run(subject));
    }),
  },
  // The timeline shows each response.
  logger: { info() {}, warn() {}, error() {} },
  observe({ status, code, deliveryId, attempt }) {
    if (code === "enqueued") process.send?.({ status, code, deliveryId, attempt });
  },
});

// The scene sends the endpoint's secret.
process.on("message", (key: string) => void secrets.push({ id: "own", key }));
// The demo has ended, so this process ends too.
process.once("disconnect", () => process.exit());

if (WORKS) await inbox.work(receiver);
const app = express().post("/webhooks", webhooks(receiver));
const server = createServer(app).listen(Number(PORT), "127.0.0.1", () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
