import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createReceiver, type Receiver } from "@svc-webhooks/core";
import { webhooks as fastifyWebhooks } from "@svc-webhooks/fastify";
import { webhooks as honoWebhooks } from "@svc-webhooks/hono";
import { expressApp, expresses } from "@svc-webhooks/kit/servers";
import { webhooks as nextWebhooks } from "@svc-webhooks/next";
import { webhooks as pagesWebhooks } from "@svc-webhooks/next/pages";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import type { MountReceiver } from "@svc-webhooks/testing/receiver";
import Fastify from "fastify";
import { Hono } from "hono";

type EventHandler = Parameters<MountReceiver>[0];

export const secret = "whsec_test";

/** Returns a function that mounts a receiver by serving its listener on a free local port. */
export const served =
  (listenerFor: (handler: EventHandler) => RequestListener): MountReceiver =>
  async (handler) => {
    const server = createServer(listenerFor(handler));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
      close() {
        server.close();
        server.closeAllConnections();
      },
    };
  };

const options = (handler: EventHandler) => ({
  secret,
  on: { "email.sent": handler },
  log: () => {},
  onHandlerError: () => {},
});

/** Mounts a receiver that deduplicates by the event id in the body. */
const mounting = (listenerFor: (receiver: Receiver) => RequestListener) =>
  served((handler) =>
    listenerFor(
      createReceiver({
        ...options(handler),
        dedupeBy: "event",
        eventId: ({ event_id }) => (typeof event_id === "string" ? event_id : undefined),
      }),
    ),
  );

const fetched = (fetch: (request: Request) => Response | Promise<Response>) =>
  getRequestListener(fetch, { overrideGlobalObjects: false });

/** A receiver for each of this project's adapters. */
export const ours: Readonly<Record<string, MountReceiver>> = {
  "node:http": mounting((receiver) => nodeWebhooks(receiver)),
  ...Object.fromEntries(
    expresses.map(({ name, express }) => [
      name,
      // The cast is needed because Express types its apps with its own request class.
      mounting((receiver) => expressApp(express, receiver) as RequestListener),
    ]),
  ),
  Fastify: mounting((receiver) => {
    const app = Fastify();
    app.register(fastifyWebhooks, { receiver });
    return async (request, response) => {
      await app.ready();
      app.routing(request, response);
    };
  }),
  Hono: mounting((receiver) => fetched(new Hono().all("/webhooks", honoWebhooks(receiver)).fetch)),
  "Next.js App Router": mounting((receiver) => {
    const { POST } = nextWebhooks(receiver);
    return fetched((request) =>
      // Next.js responds with 405 to methods that a route does not export.
      request.method === "POST" ? POST(request) : new Response(null, { status: 405 }),
    );
  }),
  "Next.js Pages Router": mounting((receiver) => pagesWebhooks(receiver)),
};

/** Mounts a receiver that recognizes copies by their delivery id, which is not signed. */
export const byDeliveryId: MountReceiver = served((handler) =>
  nodeWebhooks(createReceiver(options(handler))),
);
