import { createReceiver } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";

export const receiver = createReceiver({
  // `secret` is a function, because `next build` also loads this module, without a secret.
  secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
  events: emailEvents,
  on: {
    "email.delivered": async (event) => console.log("delivered:", event.data?.email_id),
  },
});
