import { durableObjectStore, type DeliveryRecords } from "@svc-webhooks/cloudflare";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";

export { DeliveryRecords } from "@svc-webhooks/cloudflare";

interface Worker {
  Bindings: { readonly RECORDS: DurableObjectNamespace<DeliveryRecords> };
}

/** The smallest Worker that a user deploys. */
export default new Hono<Worker>().post(
  "/webhooks",
  webhooks((c) =>
    createReceiver({
      name: "size",
      secret: "whsec_size",
      store: durableObjectStore(c.env.RECORDS),
      on: { "*": ({ type }) => console.log(type) },
    }),
  ),
);
