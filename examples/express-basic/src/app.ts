import { createReceiver, type CommonOptions } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { webhooks } from "@svc-webhooks/express";
import express, { type Express } from "express";

/** The app's reactions to events; a real app would write to its database. */
export interface Effects {
  delivered(emailId: string | undefined): Promise<void>;
  domainUpdated(domainName: string | undefined): Promise<void>;
}

/** Creates the app of the README, with its effects and the receiver's options as parameters. */
export function createApp(effects: Effects, options: CommonOptions): Express {
  const receiver = createReceiver({
    ...options,
    events: emailEvents,
    on: {
      "email.delivered": (event) => effects.delivered(event.data?.email_id),
      "domain.updated": (event) => effects.domainUpdated(event.data?.domain_name),
    },
  });

  const app = express();
  app.post("/webhooks", webhooks(receiver));
  // The most common mistake: the parser runs first and discards the bytes that were signed.
  app.post("/mistake", express.json(), webhooks(receiver));
  return app;
}
