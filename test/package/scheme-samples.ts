import type { Scheme } from "@svc-webhooks/core";
import {
  clerk,
  discord,
  dodoPayments,
  github,
  gitlab,
  lemonSqueezy,
  linear,
  meta,
  notion,
  openai,
  paddle,
  polar,
  replicate,
  resend,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
  svix,
  woocommerce,
  zoom,
} from "@svc-webhooks/schemes";
import type { SenderName } from "@svc-webhooks/schemes/senders";

/** A scheme, and an event with every field that the scheme reads. No two texts in it are equal. */
export interface Sample {
  /** The call that creates the scheme. */
  readonly call: string;
  readonly scheme: Scheme;
  readonly event: (at: number) => unknown;
  /** The type, for senders that have it in a header. */
  readonly type?: string;
}

const paid = () => ({ type: "invoice.paid", data: { id: "in_1" } });

export const samples: Readonly<Record<SenderName, Sample>> = {
  "standard-webhooks": { call: "standardWebhooks()", scheme: standardWebhooks(), event: paid },
  "standard-webhooks-ed25519": {
    call: 'standardWebhooks({ algorithm: "ed25519" })',
    scheme: standardWebhooks({ algorithm: "ed25519" }),
    event: paid,
  },
  svix: { call: "svix()", scheme: svix(), event: paid },
  resend: { call: "resend()", scheme: resend(), event: paid },
  clerk: { call: "clerk()", scheme: clerk(), event: paid },
  openai: { call: "openai()", scheme: openai(), event: paid },
  polar: { call: "polar()", scheme: polar(), event: paid },
  gitlab: {
    call: "gitlab()",
    scheme: gitlab(),
    event: () => ({ object_kind: "merge_request", object_attributes: { action: "open" } }),
  },
  replicate: {
    call: "replicate()",
    scheme: replicate(),
    event: () => ({ id: "pr_1", status: "succeeded" }),
  },
  "dodo-payments": { call: "dodoPayments()", scheme: dodoPayments(), event: paid },
  stripe: {
    call: "stripe()",
    scheme: stripe(),
    event: () => ({ id: "evt_1", object: "event", type: "invoice.paid" }),
  },
  github: {
    call: "github()",
    scheme: github(),
    event: () => ({ action: "opened", issue: { node_id: "I_1" } }),
    type: "issues.opened",
  },
  slack: {
    call: "slack()",
    scheme: slack(),
    event: () => ({ type: "event_callback", event_id: "Ev1", event: { type: "app_mention" } }),
  },
  shopify: {
    call: "shopify()",
    scheme: shopify(),
    event: () => ({ id: 1, updated_at: "2026-01-01T00:00:00Z" }),
    type: "orders/create",
  },
  paddle: {
    call: "paddle()",
    scheme: paddle(),
    event: () => ({
      event_id: "evt_1",
      event_type: "transaction.completed",
      notification_id: "ntf_1",
    }),
  },
  linear: {
    call: "linear()",
    scheme: linear(),
    event: (at) => ({ action: "create", type: "Issue", webhookTimestamp: at }),
  },
  discord: {
    call: "discord()",
    scheme: discord(),
    event: () => ({ version: 1, type: 1, event: { type: "APPLICATION_AUTHORIZED" } }),
  },
  sendgrid: {
    call: "sendgrid()",
    scheme: sendgrid(),
    event: () => [{ sg_event_id: "sg_1", event: "delivered" }],
  },
  zoom: {
    call: "zoom()",
    scheme: zoom(),
    event: () => ({ event: "meeting.started", payload: {} }),
  },
  "lemon-squeezy": {
    call: "lemonSqueezy()",
    scheme: lemonSqueezy(),
    event: () => ({ meta: { event_name: "order_created" } }),
  },
  meta: {
    call: "meta()",
    scheme: meta(),
    event: () => ({ object: "whatsapp_business_account", entry: [] }),
  },
  notion: {
    call: "notion()",
    scheme: notion(),
    event: () => ({ id: "evt_1", type: "page.created" }),
  },
  woocommerce: {
    call: "woocommerce()",
    scheme: woocommerce(),
    event: () => ({ id: 1, status: "processing" }),
    type: "order.created",
  },
};
