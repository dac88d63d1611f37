import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { createWebhookMiddleware, type ExpressLikeRequest } from "@hookflo/tern/express";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks as honoWebhooks } from "@svc-webhooks/hono";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import express, { type RequestHandler } from "express";
import { Hono, type Handler } from "hono";
import { eventType, secret } from "../deliveries.js";
import { handWrittenReceiver, memoryClaims } from "../hand-written.js";
import type { Bar } from "../race.js";
import { limit } from "../receivers.js";
import { inExpress, inHono, onStream } from "./hand-written.js";

/**
 * Rejects any value except the event that was sent, so that a contender that passes on anything else responds
 * with 500.
 */
export type Handle = (event: unknown) => Promise<void>;

/** Contenders on the same server or framework. */
interface Platform {
  /** Functions that create listeners, which receive deliveries at `/webhooks` and respond once `handle` settles. */
  readonly contenders: Readonly<Record<string, (handle: Handle) => RequestListener>>;
  readonly bars: readonly Bar[];
}

const handWritten = (handle: Handle) =>
  handWrittenReceiver({ secret, on: { [eventType]: handle }, claims: memoryClaims() });
const ours = (handle: Handle) => createReceiver({ secret, on: { [eventType]: handle } });

/** Creates an Express app, cast to a listener because Express types its apps for its own request class. */
const expressApp = (...handlers: RequestHandler[]) =>
  express().post("/webhooks", ...handlers) as RequestListener;

const honoApp = (handler: Handler) =>
  getRequestListener(new Hono().post("/webhooks", handler).fetch);

const lane = "svc-webhooks";

const honoLimit =
  "svc-webhooks takes 15 µs more per delivery than the hand-written receiver. Variants of the adapter show why: 6 µs to wait for the body within `bodyTimeoutMs` (the hand-written receiver has no such limit), 3 µs to look up nine headers instead of three, and the rest as with `node:http`.";

export const platforms: Readonly<Record<string, Platform>> = {
  "node:http": {
    contenders: {
      "hand-written": (handle) => onStream(handWritten(handle)),
      [lane]: (handle) => nodeWebhooks(ours(handle)),
      "@octokit/webhooks"(handle) {
        const receiver = new Webhooks({ secret });
        receiver.on("push", ({ payload }) => handle(payload));
        return createNodeMiddleware(receiver, { path: "/webhooks" });
      },
    },
    bars: [
      { lane, against: "hand-written", atLeast: 0.85, aim: 0.95, limit },
      { lane, against: "@octokit/webhooks", atLeast: 1, aim: 1.1, limit },
    ],
  },
  "Express 5": {
    contenders: {
      "bare route": () => expressApp((_request, response) => void response.json({ status: "OK" })),
      "hand-written": (handle) => expressApp(...inExpress(handWritten(handle))),
      "hand-written, on the stream": (handle) => expressApp(onStream(handWritten(handle))),
      [lane]: (handle) => expressApp(expressWebhooks(ours(handle))),
      "@hookflo/tern": (handle) =>
        expressApp(
          // Uses the parser that the library's error message recommends.
          express.raw({ type: "*/*", limit: 2 ** 20 }),
          createWebhookMiddleware({ platform: "github", secret }) as RequestHandler,
          async (request, response) => {
            await handle((request as ExpressLikeRequest).webhook?.payload);
            response.json({ status: "OK" });
          },
        ),
    },
    bars: [
      { lane, against: "hand-written", atLeast: 1.1, aim: 1.2, limit },
      // Compares with the hand-written receiver that reads the request stream itself.
      { lane, against: "hand-written, on the stream", atLeast: 0.75, aim: 0.85, limit },
      { lane, against: "@hookflo/tern", atLeast: 1.7, aim: 2 },
    ],
  },
  "Hono on Node": {
    contenders: {
      "bare route": () => honoApp((c) => c.json({ status: "OK" })),
      "hand-written": (handle) => honoApp(inHono(handWritten(handle))),
      [lane]: (handle) => honoApp(honoWebhooks(ours(handle))),
    },
    bars: [{ lane, against: "hand-written", atLeast: 0.88, aim: 0.95, limit: honoLimit }],
  },
};
