import {
  githubSigner,
  linearSigner,
  paddleSigner,
  shopifySigner,
  slackSigner,
  standardWebhooksSigner,
  stripeSigner,
} from "./hmac-signers.js";
import {
  discordSigner,
  sendgridSigner,
  standardWebhooksEd25519Signer,
} from "./public-key-signers.js";
import type { Signer } from "./signer.js";

/** The name of a scheme that has a signer. */
export type SchemeName =
  | "standardWebhooks"
  | "standardWebhooksEd25519"
  | "svix"
  | "stripe"
  | "github"
  | "slack"
  | "shopify"
  | "paddle"
  | "linear"
  | "discord"
  | "sendgrid";

/**
 * Sign bodies as the senders do, for tests and tools. A receiver does not import them.
 *
 * @example
 * ```ts
 * import { signers } from "@svc-webhooks/schemes/sign";
 *
 * const body = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
 * console.log(await signers.stripe(body, { secret: "whsec_test" }));
 * ```
 */
export const signers: Readonly<Record<SchemeName, Signer>> = {
  standardWebhooks: /* @__PURE__ */ standardWebhooksSigner("webhook"),
  standardWebhooksEd25519: standardWebhooksEd25519Signer,
  svix: /* @__PURE__ */ standardWebhooksSigner("svix"),
  stripe: stripeSigner,
  github: githubSigner,
  slack: slackSigner,
  shopify: shopifySigner,
  paddle: paddleSigner,
  linear: linearSigner,
  discord: discordSigner,
  sendgrid: sendgridSigner,
};
