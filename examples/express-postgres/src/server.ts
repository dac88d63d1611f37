import { createReceiver, typed, type DeliveryContext } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { webhooks } from "@svc-webhooks/express";
import express from "express";
import { openDatabase } from "./database.js";
import { ordersIn, recordStatus } from "./orders.js";
import { listening, reached } from "./part.js";

/** `emailEvents` has no schema for this type. */
interface EmailBounced {
  readonly type: "email.bounced";
  readonly data?: { readonly email_id?: string };
}

const database = openDatabase();
const { store } = database;

const receiver = createReceiver({
  name: "example", // receivers with the same name and database share their records
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  store,
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  events: { ...emailEvents, "email.bounced": typed<EmailBounced>() },
  on: {
    "email.delivered": (event, context) => record(context, event.data?.email_id, "delivered"),
    "email.bounced": (event, context) => record(context, event.data?.email_id, "bounced"),
  },
});

/** Commits the app's rows and the delivery's completion together, or neither. */
async function record(context: DeliveryContext, emailId = "", status: string): Promise<void> {
  await store.transaction(context, async (tx) => {
    await recordStatus(tx, emailId, status);
    await reached("written");
  });
  await reached("committed");
}

const app = express();
app.post("/webhooks", webhooks(receiver));
app.get("/orders", async (_request, response) => void response.json(await ordersIn(database)));

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => listening(server));

process.once("SIGTERM", async () => {
  const deadlineMs = 20_000;
  const closed = new Promise((resolve) => server.close(resolve));
  setTimeout(() => server.closeAllConnections(), deadlineMs);
  const left = await receiver.drain({ deadlineMs });
  if (left > 0) console.error(`${left} deliveries were interrupted; later attempts will run them.`);
  // Handlers finish before their responses are sent; the server closes after that.
  await closed;
  await database.close();
  process.exit();
});
