import { toBase64 } from "../lib/base64.js";
import { discord } from "../discord.js";
import { github } from "../github.js";
import { linear } from "../linear.js";
import { paddle } from "../paddle.js";
import { sendgrid } from "../sendgrid.js";
import { shopify } from "../shopify.js";
import { slack } from "../slack.js";
import { standardWebhooks } from "../standard-webhooks.js";
import { stripe } from "../stripe.js";
import { svix } from "../presets-standard.js";
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
import { hmacPresets } from "./hmac-presets.js";
import type { Row, Sender, SenderName } from "./sender.js";
import { isoTime, likeStandardWebhooks, parted } from "./row-parts.js";
import { standardPresets } from "./standard-presets.js";
import { discordPair, sendgridPair, sharedSecret, standardWebhooksPair } from "./test-keys.js";

const rows: Readonly<Record<SenderName, Row>> = {
  // The general names come first, so that tools name them for a header that several senders use.
  "standard-webhooks": {
    ...likeStandardWebhooks("webhook", "v1"),
    label: "Standard Webhooks",
    secretVariable: "WEBHOOK_SECRET",
    scheme: standardWebhooks(),
    sign: standardWebhooksSigner("webhook"),
    testKeys: sharedSecret("whsec_", 32, toBase64),
    key: "encoded",
  },

  "standard-webhooks-ed25519": {
    ...likeStandardWebhooks("webhook", "v1a"),
    label: "Standard Webhooks (Ed25519)",
    secretVariable: "WEBHOOK_PUBLIC_KEY",
    scheme: standardWebhooks({ algorithm: "ed25519" }),
    sign: standardWebhooksEd25519Signer,
    testKeys: standardWebhooksPair,
    key: "public",
  },

  svix: {
    ...likeStandardWebhooks("svix", "v1"),
    label: "Svix",
    secretVariable: "WEBHOOK_SECRET",
    scheme: svix(),
    sign: standardWebhooksSigner("svix"),
    testKeys: sharedSecret("whsec_", 24, toBase64),
    key: "encoded",
  },

  stripe: {
    label: "Stripe",
    secretVariable: "STRIPE_WEBHOOK_SECRET",
    scheme: stripe(),
    sign: stripeSigner,
    testKeys: sharedSecret("whsec_", 32),
    key: "text",
    form: {
      prefix: "v1=",
      encoding: "hex",
      separator: ",",
      idHeaders: [],
      idField: "id",
    },
    isTimed: true,
    signsId: true,
    type: "invoice.paid",
    complete: (event, { deliveryId, type }) => ({
      id: deliveryId,
      object: "event",
      type,
      data: { object: {} },
      ...event,
    }),
  },

  github: {
    label: "GitHub",
    secretVariable: "GITHUB_WEBHOOK_SECRET",
    scheme: github(),
    sign: githubSigner,
    testKeys: sharedSecret("", 32),
    key: "text",
    form: { prefix: "sha256=", encoding: "hex", idHeaders: ["x-github-delivery"] },
    isTimed: false,
    signsId: false,
    type: "ping",
    complete(event, { type }) {
      const { action } = parted(type);
      return { ...(action && { action }), ...event };
    },
  },

  slack: {
    label: "Slack",
    secretVariable: "SLACK_SIGNING_SECRET",
    scheme: slack(),
    sign: slackSigner,
    testKeys: sharedSecret("", 16),
    key: "text",
    form: {
      prefix: "v0=",
      encoding: "hex",
      idHeaders: [],
      idField: "event_id",
    },
    isTimed: true,
    signsId: true,
    type: "app_mention",
    complete: (event, { deliveryId, type }) => ({
      type: "event_callback",
      event_id: deliveryId,
      event: { type },
      ...event,
    }),
  },

  shopify: {
    label: "Shopify",
    secretVariable: "SHOPIFY_API_SECRET",
    scheme: shopify(),
    sign: shopifySigner,
    testKeys: sharedSecret("shpss_", 16),
    key: "text",
    form: { prefix: "", encoding: "base64", idHeaders: ["x-shopify-webhook-id"] },
    isTimed: false,
    signsId: false,
    type: "app/uninstalled",
    complete: (event) => event,
  },

  paddle: {
    label: "Paddle",
    secretVariable: "PADDLE_WEBHOOK_SECRET",
    scheme: paddle(),
    sign: paddleSigner,
    testKeys: sharedSecret("pdl_ntfset_", 24),
    key: "text",
    form: {
      prefix: "h1=",
      encoding: "hex",
      separator: ";",
      idHeaders: [],
      idField: "notification_id",
    },
    isTimed: true,
    signsId: true,
    type: "transaction.completed",
    complete: (event, { deliveryId, type, at }) => ({
      event_id: deliveryId,
      event_type: type,
      occurred_at: isoTime(at),
      notification_id: deliveryId,
      data: {},
      ...event,
    }),
  },

  linear: {
    label: "Linear",
    secretVariable: "LINEAR_WEBHOOK_SECRET",
    scheme: linear(),
    sign: linearSigner,
    testKeys: sharedSecret("lin_wh_", 20),
    key: "text",
    form: { prefix: "", encoding: "hex", idHeaders: ["linear-delivery"] },
    isTimed: true,
    timeField: "webhookTimestamp",
    signsId: false,
    type: "Issue.create",
    complete(event, { type, at }) {
      const { name, action } = parted(type);
      return { ...(action && { action }), type: name, data: {}, webhookTimestamp: at, ...event };
    },
  },

  discord: {
    label: "Discord",
    secretVariable: "DISCORD_PUBLIC_KEY",
    scheme: discord(),
    sign: discordSigner,
    testKeys: discordPair,
    key: "public",
    form: { prefix: "", encoding: "hex", idHeaders: [] },
    isTimed: true,
    signsId: true,
    type: "APPLICATION_AUTHORIZED",
    complete: (event, { deliveryId, type, at }) => ({
      version: 1,
      application_id: "1",
      type: 1,
      // Makes each body unique, because the delivery id is the hash of the body.
      event: { type, timestamp: isoTime(at), data: { user: { id: deliveryId } } },
      ...event,
    }),
  },

  sendgrid: {
    label: "SendGrid",
    secretVariable: "SENDGRID_VERIFICATION_KEY",
    scheme: sendgrid(),
    sign: sendgridSigner,
    testKeys: sendgridPair,
    key: "public",
    form: { prefix: "", encoding: "base64", idHeaders: [] },
    isTimed: true,
    signsId: true,
    sendsLists: true,
    type: "delivered",
    complete: (event, { deliveryId, type, at }) => [
      {
        email: "ada@example.test",
        timestamp: Math.floor(at / 1_000),
        event: type,
        sg_event_id: deliveryId,
        ...event,
      },
    ],
  },

  ...standardPresets,
  ...hmacPresets,
};

/**
 * The known senders, for tests and tools: how each one signs, the scheme of its receivers, and the form of its
 * deliveries. A receiver imports its scheme from `svc-webhooks/schemes`.
 *
 * @example
 * ```ts
 * import { senders } from "svc-webhooks/schemes/senders";
 *
 * const body = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
 * console.log(await senders.stripe.sign(body, { secret: "whsec_test" }));
 * ```
 */
export const senders = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => {
    const [header = ""] = row.scheme.headers;
    return [name, { name, ...row, form: { header, ...row.form } }];
  }),
) as { readonly [Name in SenderName]: Sender & { readonly name: Name } };
