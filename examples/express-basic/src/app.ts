import { createReceiver, type CommonOptions } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { webhooks } from "@svc-webhooks/express";
import express, { type Express } from "express";

/** What the app does with events; a real one would write to its database. */
export interface Effects {
  delivered(emailId: string | undefined): Promise<void>;
  domainUpdated(domainName: string | undefined): Promise<void>;
}

/** The app of the README, with its effects and the receiver's options left open. */
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
  // The other way round is the commonest mistake: the parser eats the bytes that were signed.
  app.post("/mistake", express.json(), webhooks(receiver));
  return app;
}
