/** One of the two receiver processes: an Express app on a database that both share. */
import { createReceiver, type DeliveryContext } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/express";
import type { Query } from "svc-webhooks/postgres";
import express from "express";
import { listen } from "../server.js";
import { secrets } from "../steps.js";
import { fastClock } from "./clock.js";
import { remoteDatabase } from "./remote-database.js";
import { fastStore } from "./store.js";

/** A message from a receiver process to the demo. */
export type FromReceiver =
  { readonly url: string } | { readonly run: number; readonly fence: number };

const report = (message: FromReceiver) => process.send?.(message);
const database = remoteDatabase(Number(process.argv[2]));
const store = fastStore(database);

/** Writes the effect of a handler, then does the rest of its work. */
async function work(query: Query, type: string, context: DeliveryContext): Promise<void> {
  await query("insert into effects (type) values ($1)", [type]);
  const { run = 0, fence = 0 } = context;
  report({ run, fence });
  // Process A is still working when it is killed.
  if (process.argv[3] === "A") await new Promise(() => {});
}

const receiver = createReceiver({
  name: "demo",
  secret: secrets.current,
  store,
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  clock: fastClock,
  storeTimeouts: { claim: 5_000 }, // the database has just started
  log: () => {}, // the story shows what happens
  events: emailEvents,
  on: {
    "email.sent": ({ type }, context) => work(database.query, type, context),
    "email.delivered": ({ type }, context) =>
      store.transaction(context, (tx) => work(tx, type, context)),
  },
});

const { url } = await listen(express().post("/webhooks", webhooks(receiver)));
report({ url });

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
