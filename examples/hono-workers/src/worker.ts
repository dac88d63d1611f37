import { createReceiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/hono";
import { Hono } from "hono";

interface Env {
  Bindings: { readonly SVC_WEBHOOK_SECRET: string };
}

const app = new Hono<Env>();

app.post(
  "/webhooks",
  // A function, because bindings exist only per request. It is called once per isolate.
  webhooks((c) =>
    createReceiver({
      secret: c.env.SVC_WEBHOOK_SECRET,
      events: emailEvents,
      on: {
        "email.delivered": async (event) => console.log("delivered:", event.data?.email_id),
      },
    }),
  ),
);

export default app;
