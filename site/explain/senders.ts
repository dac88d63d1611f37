import type { SenderName } from "@svc-webhooks/explain/senders";

/** The senders that can be chosen, with their names in the page. */
export const senderLabels: Readonly<Record<SenderName, string>> = {
  "standard-webhooks": "Standard Webhooks",
  "standard-webhooks-ed25519": "Standard Webhooks (Ed25519)",
  svix: "Svix",
  stripe: "Stripe",
  github: "GitHub",
  slack: "Slack",
  shopify: "Shopify",
  paddle: "Paddle",
  linear: "Linear",
  discord: "Discord",
  sendgrid: "SendGrid",
};
