import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";

interface Worker {
  Bindings: { readonly SVC_WEBHOOK_SECRET: string };
}

/** The smallest Worker that a user deploys. */
export default new Hono<Worker>().post(
  "/webhooks",
  webhooks((c) =>
    createReceiver({
      secret: c.env.SVC_WEBHOOK_SECRET,
      on: {
        "email.sent": ({ type }) => console.log(type),
        "*": ({ type }) => console.log(type),
      },
    }),
  ),
);
