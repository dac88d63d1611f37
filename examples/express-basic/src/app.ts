import { createReceiver, type CommonOptions, type Receiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/express";
import express, { type Express } from "express";

/** The app's reactions to events; a real app would write to its database. */
export interface Effects {
  delivered(emailId: string | undefined): Promise<void>;
  domainUpdated(domainName: string | undefined): Promise<void>;
}

/** Creates the receiver of the README, with its effects and options as parameters. */
export const createMailReceiver = (effects: Effects, options: CommonOptions): Receiver =>
  createReceiver({
    ...options,
    events: emailEvents,
    on: {
      "email.delivered": (event) => effects.delivered(event.data?.email_id),
      "domain.updated": (event) => effects.domainUpdated(event.data?.domain_name),
    },
  });

/** Mounts the receiver in an Express app. */
export function createApp(effects: Effects, options: CommonOptions): Express {
  const receiver = createMailReceiver(effects, options);
  const app = express();
  app.post("/webhooks", webhooks(receiver));
  // The most common mistake: the parser runs first and discards the bytes that were signed.
  app.post("/mistake", express.json(), webhooks(receiver));
  return app;
}
