import { getRequestListener } from "@hono/node-server";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono, type Handler } from "hono";
import { webhooksByHand } from "../byhand/hono.js";
import { eventType, secret } from "../deliveries.js";
import type { Group } from "./contender.js";

const app = (handler: Handler) => getRequestListener(new Hono().post("/webhooks", handler).fetch);

export const hono: Group = {
  title: "Hono on Node",
  contenders: [
    {
      name: "bare route",
      lacks: ["signature", "duplicates", "body limit"],
      mount: (handle) =>
        app(async (c) => {
          await handle({ type: eventType });
          return c.json({ status: "OK" });
        }),
    },
    {
      name: "by hand",
      lacks: [],
      mount: (handle) => app(webhooksByHand({ secret, on: { [eventType]: handle } })),
    },
    {
      name: "svc-webhooks",
      lacks: [],
      mount: (handle) => app(webhooks(createReceiver({ secret, on: { [eventType]: handle } }))),
    },
  ],
  bars: [{ lane: "svc-webhooks", against: "by hand", atLeast: 0.75, aim: 0.9 }],
};
