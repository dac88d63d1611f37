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
