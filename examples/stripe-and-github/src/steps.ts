import { senders } from "svc-webhooks/schemes/senders";
import type { Secrets } from "./app.js";

export const secrets: Secrets = { stripe: "whsec_demo_stripe", github: "demo-github-secret" };

/** One request of the demo, and its expected outcome. */
export interface Step {
  readonly title: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly expected: string;
}

const minute = 60_000;

/** Signs the requests as Stripe and GitHub sign them, and returns them in the order of the demo. */
export async function signedSteps(now: number): Promise<readonly Step[]> {
  const invoice = JSON.stringify({
    id: "evt_1",
    object: "event",
    type: "invoice.paid",
    data: { object: { id: "in_1", amount_paid: 4900 } },
  });
  const issue = JSON.stringify({ action: "opened", issue: { node_id: "I_1", title: "It works" } });
  const fromStripe = (at: number) => senders.stripe.sign(invoice, { secret: secrets.stripe, at });
  const fromGithub = (deliveryId: string, type: string) =>
    senders.github.sign(issue, { secret: secrets.github, deliveryId, type });

  const toStripe = { path: "/webhooks/stripe", body: invoice };
  const toGithub = { path: "/webhooks/github", body: issue };
  const opened = await fromGithub("d-1", "issues.opened");
  return [
    {
      ...toStripe,
      title: "a new event",
      headers: await fromStripe(now - minute),
      expected: "processed",
    },
    {
      ...toStripe,
      title: "its retry, signed again",
      headers: await fromStripe(now),
      expected: "duplicate",
    },
    {
      ...toStripe,
      title: "a request from 1 hour ago",
      headers: await fromStripe(now - 60 * minute),
      expected: "signature_stale",
    },
    {
      ...toStripe,
      title: "a body changed in transit",
      headers: await fromStripe(now),
      body: invoice.replace("4900", "1"),
      expected: "signature_mismatch",
    },
    { ...toStripe, title: "a request from GitHub", headers: opened, expected: "signature_missing" },
    { ...toGithub, title: "a new event", headers: opened, expected: "processed" },
    { ...toGithub, title: "its redelivery", headers: opened, expected: "duplicate" },
    {
      ...toGithub,
      title: "a replay under another id",
      headers: await fromGithub("d-2", "issues.opened"),
      expected: "duplicate",
    },
    {
      ...toGithub,
      title: "a replay as another event",
      headers: await fromGithub("d-3", "pull_request.opened"),
      expected: "ignored",
    },
  ];
}
