import { createReceiver, type ReceiverOptions } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import express, { type Express } from "express";

/** What the app does with events; a real one would write to its database. */
export interface Effects {
  delivered(emailId: unknown): Promise<void>;
  domainUpdated(domainName: unknown): Promise<void>;
}

/** The app of the README, with its effects and the receiver's options left open. */
export function createApp(effects: Effects, options: Omit<ReceiverOptions, "on">): Express {
  const receiver = createReceiver({
    ...options,
    on: {
      "email.delivered": (event) => effects.delivered(event["email_id"]),
      "domain.*": (event) => effects.domainUpdated(event["domain_name"]),
    },
  });

  const app = express();
  app.post("/webhooks", webhooks(receiver));
  // The other way round is the commonest mistake: the parser eats the bytes that were signed.
  app.post("/mistake", express.json(), webhooks(receiver));
  return app;
}
