import { createReceiver } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";

export const receiver = createReceiver({
  // A function, because `next build` loads this module too, and has no secret.
  secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
  events: emailEvents,
  on: {
    "email.delivered": async (event) => console.log("delivered:", event.data?.email_id),
  },
});
