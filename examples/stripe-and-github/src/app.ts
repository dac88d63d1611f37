import { createReceiver, type CommonOptions } from "svc-webhooks";
import { webhooks } from "svc-webhooks/express";
import { github, stripe } from "svc-webhooks/schemes";
import express, { type Express } from "express";

/** The app's reactions to events; a real app would write to its database. */
export interface Effects {
  paid(invoice: unknown): void;
  opened(issue: unknown): void;
}

/** The secret of each sender's endpoint. */
export interface Secrets {
  readonly stripe: string;
  readonly github: string;
}

/** Creates an app with one receiver for each sender, each on a path of its own. */
export function createApp(
  effects: Effects,
  secrets: Secrets,
  options: Pick<CommonOptions, "observe" | "logger"> = {},
): Express {
  const payments = createReceiver({
    ...options,
    scheme: stripe(),
    secret: secrets.stripe,
    on: { "invoice.paid": ({ data }) => effects.paid((data as { object?: unknown }).object) },
  });

  const issues = createReceiver({
    ...options,
    scheme: github(),
    secret: secrets.github,
    // GitHub does not sign its delivery id. An issue is opened once, and the body has the issue's id.
    dedupeBy: "event",
    eventId: ({ issue }) => (issue as { node_id?: string } | undefined)?.node_id,
    on: { "issues.opened": ({ issue }) => effects.opened(issue) },
  });

  const app = express();
  app.post("/webhooks/stripe", webhooks(payments));
  app.post("/webhooks/github", webhooks(issues));
  return app;
}
