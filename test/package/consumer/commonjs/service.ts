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
  type Receiver,
} from "@svc-webhooks/core";
import { emailEvents, type EmailDeliveredEvent } from "@svc-webhooks/events";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks as honoWebhooks } from "@svc-webhooks/hono";
import { webhooks as nextWebhooks } from "@svc-webhooks/next";
import { webhooks as pagesWebhooks } from "@svc-webhooks/next/pages";
import { webhooks } from "@svc-webhooks/node";
import { redisStore } from "@svc-webhooks/redis";
import { fakeClock, signedRequest } from "@svc-webhooks/testing";
import { adapterContract } from "@svc-webhooks/testing/adapter";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { storeContract } from "@svc-webhooks/testing/store";
import express from "express";

const store: DeliveryStore = memoryStore({ clock: fakeClock() });

const receiver: Receiver = createReceiver({
  secret: "whsec_test",
  store,
  events: emailEvents,
  onHandlerError: () => {},
  onParked: (error) => console.log("parked", String(error)),
  on: {
    "email.delivered": (event: EmailDeliveredEvent) => event.data?.recipients?.to,
    "email.*": () => {
      throw new RetryError({ retryAfterMs: 60_000 });
    },
    "*": (event) => {
      if (isEvent(event, "domain.updated")) throw new PermanentError(event.data?.domain_name);
    },
  },
});

/** Code that would compile without errors if the types were `any`. */
export const notAny = (): unknown => [
  // @ts-expect-error: the service does not send this event
  createReceiver({ secret: "whsec_test", events: emailEvents, on: { "email.deliverd": () => {} } }),
  // @ts-expect-error: an adapter requires a receiver
  expressWebhooks({}),
  // @ts-expect-error: the adapter returns a handler
  Math.abs(honoWebhooks(receiver)),
  // @ts-expect-error: an adapter requires a receiver
  nextWebhooks({}),
  // @ts-expect-error: an adapter requires a receiver
  pagesWebhooks({}),
  // @ts-expect-error: an adapter requires a receiver
  webhooks({}),
  // @ts-expect-error: a store requires a client
  redisStore(),
  // @ts-expect-error: a contract requires a test runner
  adapterContract({}),
  // @ts-expect-error: a contract requires a test runner
  storeContract({}),
  // @ts-expect-error: a contract requires a test runner
  inboxContract({}),
  // @ts-expect-error: the receiver of the contract has no options
  contractReceiver({ secret: "whsec_test" }),
];

async function deliver(
  type: string,
  send: (request: Request) => Promise<Response>,
  url = "http://localhost/",
): Promise<void> {
  const event = { type, data: { domain_name: "example.com" } };
  const response = await send(await signedRequest(event, { url }));
  console.log(type, response.status, await response.text());
}

async function deliverTo(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await deliver("email.delivered", fetch, `http://127.0.0.1:${port}/webhooks`);
  server.close();
  server.closeAllConnections();
}

async function main(): Promise<void> {
  for (const type of ["email.delivered", "email.sent", "domain.updated", "contact.created"]) {
    await deliver(type, receiver.fetch);
  }
  await deliver("email.delivered", nextWebhooks(receiver).POST);
  await deliverTo(createServer(webhooks(receiver)));
  await deliverTo(createServer(express().post("/webhooks", expressWebhooks(receiver))));
}

void main();
