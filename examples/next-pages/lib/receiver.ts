import { createReceiver, type CommonOptions, type Receiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";

/** Creates the receiver. `delivered` is the effect of its handler. */
export const createMailReceiver = (
  delivered: (emailId: string | undefined) => void | Promise<void>,
  options: CommonOptions,
): Receiver =>
  createReceiver({
    ...options,
    events: emailEvents,
    on: {
      "email.delivered": async (event) => delivered(event.data?.email_id),
    },
  });

export const receiver = createMailReceiver((emailId) => console.log("delivered:", emailId), {
  // `secret` is a function, because `next build` also loads this module, without a secret.
  secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
});
