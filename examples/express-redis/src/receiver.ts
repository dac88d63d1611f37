import { createReceiver, type CommonOptions, type Receiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";

/** Creates the receiver. `work` is the work of its handler. */
export const createMailReceiver = (
  work: (emailId: string | undefined, run: number | undefined) => Promise<void>,
  options: CommonOptions,
): Receiver =>
  createReceiver({
    ...options,
    name: "example", // receivers with the same name and Redis share their records
    leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
    events: emailEvents,
    on: { "email.delivered": (event, { run }) => work(event.data?.email_id, run) },
  });
