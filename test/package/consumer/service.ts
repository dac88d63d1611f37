import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createReceiver,
  isEvent,
  memoryStore,
  PermanentError,
  RetryError,
  type DeliveryStore,
  type Outcome,
  type Receiver,
  type UnknownEvent,
} from "@svc-webhooks/core";
import {
  emailEvents,
  type DomainUpdatedEvent,
  type EmailDeliveredEvent,
  type EmailSentEvent,
} from "@svc-webhooks/events";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks } from "@svc-webhooks/node";
import express from "express";
import { deliver, secret } from "./deliver.js";

const store: DeliveryStore = memoryStore({ maxRecords: 100 });

const receiver: Receiver = createReceiver({
  secret,
  store,
  events: emailEvents,
  onHandlerError: () => {},
  onParked: (error, context) => {
    if (error instanceof PermanentError) console.log("parked", context.type, error.message);
  },
  on: {
    "email.delivered": (event: EmailDeliveredEvent) => event.data?.recipients?.to,
    "email.*": (event) => {
      const other: EmailSentEvent | UnknownEvent = event;
      throw new RetryError({ retryAfterMs: 60_000, cause: other });
    },
    "*": (event) => {
      if (!isEvent(event, "domain.updated")) return;
      const updated: DomainUpdatedEvent = event;
      throw new PermanentError(updated.data?.domain_name);
    },
  },
});

/** Code that would compile without errors if the types were `any`. */
export const notAny = (outcome: Outcome): unknown => [
  // @ts-expect-error: the service does not send this event
  createReceiver({ secret, events: emailEvents, on: { "email.deliverd": () => {} } }),
  // @ts-expect-error: no outcome has this code
  outcome.code === "precessed",
  // @ts-expect-error: an adapter requires a receiver
  webhooks({}),
  // @ts-expect-error: an adapter requires a receiver
  expressWebhooks({}),
];

async function served(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const result = await deliver(fetch, "email.delivered", `http://127.0.0.1:${port}/webhooks`);
  server.close();
  server.closeAllConnections();
  return result;
}

for (const type of ["email.delivered", "email.sent", "domain.updated", "contact.created"]) {
  console.log(type, await deliver(receiver.fetch, type));
}
console.log("node", await served(createServer(webhooks(receiver))));
const app = express().post("/webhooks", expressWebhooks(receiver));
console.log("express", await served(createServer(app)));
