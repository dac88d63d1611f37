import { durableObjectStore, type DeliveryRecords } from "svc-webhooks/cloudflare";
import { createReceiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/hono";
import { Hono } from "hono";

// Cloudflare requires the Worker to export the objects' class.
export { DeliveryRecords } from "svc-webhooks/cloudflare";

interface Env {
  Bindings: {
    readonly SVC_WEBHOOK_SECRET: string;
    readonly RECORDS: DurableObjectNamespace<DeliveryRecords>;
  };
}

const app = new Hono<Env>();

app.post(
  "/webhooks",
  // A function, because bindings exist only per request. It is called once per isolate.
  webhooks((c) =>
    createReceiver({
      name: "mail",
      secret: c.env.SVC_WEBHOOK_SECRET,
      store: durableObjectStore(c.env.RECORDS),
      events: emailEvents,
      on: {
        "email.delivered": async (event) => console.log("delivered:", event.data?.email_id),
      },
    }),
  ),
);

export default app;
