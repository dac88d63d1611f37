import type { RequestListener } from "node:http";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import { createWebhookMiddleware, type ExpressLikeRequest } from "@hookflo/tern/express";
import express, { type RequestHandler } from "express";
import { webhooksByHand } from "../byhand/express.js";
import { webhooksByHand as onTheStream } from "../byhand/node.js";
import { eventType, secret } from "../deliveries.js";
import type { Group } from "./contender.js";

/** Express types its apps for its own request class. */
const app = (...handlers: RequestHandler[]) =>
  express().post("/webhooks", ...handlers) as RequestListener;

export const express5: Group = {
  title: "Express 5",
  contenders: [
    {
      name: "bare route",
      lacks: ["signature", "duplicates", "body limit"],
      mount: (handle) =>
        app(async (_request, response) => {
          await handle({ type: eventType });
          response.json({ status: "OK" });
        }),
    },
    {
      name: "by hand",
      lacks: [],
      mount: (handle) => app(...webhooksByHand({ secret, on: { [eventType]: handle } })),
    },
    {
      name: "by hand on the stream",
      lacks: [],
      mount: (handle) => app(onTheStream({ secret, on: { [eventType]: handle } })),
    },
    {
      name: "svc-webhooks",
      lacks: [],
      mount: (handle) => app(webhooks(createReceiver({ secret, on: { [eventType]: handle } }))),
    },
    {
      name: "@hookflo/tern",
      lacks: ["duplicates"],
      mount: (handle) =>
        app(
          // What it asks for in the text of its own error.
          express.raw({ type: "*/*", limit: 2 ** 20 }),
          createWebhookMiddleware({ platform: "github", secret }) as RequestHandler,
          async (request, response) => {
            await handle((request as ExpressLikeRequest).webhook?.payload);
            response.json({ status: "OK" });
          },
        ),
    },
  ],
  bars: [
    { lane: "svc-webhooks", against: "by hand", atLeast: 1, aim: 1.15 },
    // As on node:http, against the same receiver.
    { lane: "svc-webhooks", against: "by hand on the stream", atLeast: 0.75, aim: 0.85 },
    { lane: "svc-webhooks", against: "@hookflo/tern", atLeast: 1.5, aim: 2 },
  ],
};
