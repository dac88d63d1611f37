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
  svix: {
    call: 'standardWebhooks({ headers: "svix" })',
    scheme: standardWebhooks({ headers: "svix" }),
    event: paid,
  },
  "standard-webhooks-ed25519": {
    call: 'standardWebhooks({ algorithm: "ed25519" })',
    scheme: standardWebhooks({ algorithm: "ed25519" }),
    event: paid,
  },
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
};
