import type { Scheme } from "@svc-webhooks/core";
import {
  discord,
  github,
  linear,
  paddle,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
} from "@svc-webhooks/schemes";

/** The name of a known sender, as in the command line. */
export type SenderName =
  | "standard-webhooks"
  | "standard-webhooks-ed25519"
  | "svix"
  | "stripe"
  | "github"
  | "slack"
  | "shopify"
  | "paddle"
  | "linear"
  | "discord"
  | "sendgrid";

/** The schemes of the known senders, with the options that `explainRequest` uses for a name. */
export const senders: Readonly<Record<SenderName, Scheme>> = {
  "standard-webhooks": /* @__PURE__ */ standardWebhooks(),
  "standard-webhooks-ed25519": /* @__PURE__ */ standardWebhooks({ algorithm: "ed25519" }),
  svix: /* @__PURE__ */ standardWebhooks({ headers: "svix" }),
  stripe: /* @__PURE__ */ stripe(),
  github: /* @__PURE__ */ github(),
  slack: /* @__PURE__ */ slack(),
  shopify: /* @__PURE__ */ shopify(),
  paddle: /* @__PURE__ */ paddle(),
  linear: /* @__PURE__ */ linear(),
  discord: /* @__PURE__ */ discord(),
  sendgrid: /* @__PURE__ */ sendgrid(),
};

export const allSenders = (): readonly (readonly [name: SenderName, scheme: Scheme])[] =>
  Object.entries(senders) as [SenderName, Scheme][];

/** The first thing to check if a signature is wrong and no mistake is known, by the name of the scheme. */
export const firstChecks: Readonly<Record<string, string>> = {
  stripe:
    "Each Stripe endpoint has its own secret, and stripe listen uses yet another one. Compare the last characters of the secrets.",
  shopify:
    "Shopify signs with the client secret of the app that created the subscription, and with a different key for webhooks created in the admin settings. Check that the secret does not belong to another app.",
};
