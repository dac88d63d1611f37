import { assertValid } from "@svc-webhooks/core";
import type { SchemeName } from "@svc-webhooks/schemes/sign";
import type { Sender } from "./sender.js";

/** Returns the name of an event and its action, which some senders send separately. */
function parted(type: string): { readonly name: string; readonly action: string | undefined } {
  const [name = type, action] = type.split(".", 2);
  return { name, action };
}

const isoTime = (at: number) => new Date(at).toISOString();

const standardWebhooks = (prefix: "webhook" | "svix", version: "v1" | "v1a"): Sender => ({
  form: {
    header: `${prefix}-signature`,
    prefix: `${version},`,
    encoding: "base64",
    separator: " ",
    idHeaders: [`${prefix}-id`],
  },
  isTimed: true,
  signsId: true,
  hasTextKeys: false,
  type: "contact.created",
  complete: (event, { type, at }) => ({ type, timestamp: isoTime(at), data: {}, ...event }),
});

const senders: Readonly<Record<SchemeName, Sender>> = {
  standardWebhooks: standardWebhooks("webhook", "v1"),
  standardWebhooksEd25519: standardWebhooks("webhook", "v1a"),
  svix: standardWebhooks("svix", "v1"),

  stripe: {
    form: {
      header: "stripe-signature",
      prefix: "v1=",
      encoding: "hex",
      separator: ",",
      idHeaders: [],
      idField: "id",
    },
    isTimed: true,
    signsId: true,
    hasTextKeys: true,
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
    form: {
      header: "x-hub-signature-256",
      prefix: "sha256=",
      encoding: "hex",
      idHeaders: ["x-github-delivery"],
    },
    isTimed: false,
    signsId: false,
    hasTextKeys: true,
    type: "ping",
    complete(event, { type }) {
      const { action } = parted(type);
      return { ...(action && { action }), ...event };
    },
  },

  slack: {
    form: {
      header: "x-slack-signature",
      prefix: "v0=",
      encoding: "hex",
      idHeaders: [],
      idField: "event_id",
    },
    isTimed: true,
    signsId: true,
    hasTextKeys: true,
    type: "app_mention",
    complete: (event, { deliveryId, type }) => ({
      type: "event_callback",
      event_id: deliveryId,
      event: { type },
      ...event,
    }),
  },

  shopify: {
    form: {
      header: "x-shopify-hmac-sha256",
      prefix: "",
      encoding: "base64",
      idHeaders: ["x-shopify-webhook-id"],
    },
    isTimed: false,
    signsId: false,
    hasTextKeys: true,
    type: "app/uninstalled",
    complete: (event) => event,
  },

  paddle: {
    form: {
      header: "paddle-signature",
      prefix: "h1=",
      encoding: "hex",
      separator: ";",
      idHeaders: [],
      idField: "notification_id",
    },
    isTimed: true,
    signsId: true,
    hasTextKeys: true,
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
    form: {
      header: "linear-signature",
      prefix: "",
      encoding: "hex",
      idHeaders: ["linear-delivery"],
    },
    isTimed: true,
    timeField: "webhookTimestamp",
    signsId: false,
    hasTextKeys: true,
    type: "Issue.create",
    complete(event, { type, at }) {
      const { name, action } = parted(type);
      return { ...(action && { action }), type: name, data: {}, webhookTimestamp: at, ...event };
    },
  },

  discord: {
    form: { header: "x-signature-ed25519", prefix: "", encoding: "hex", idHeaders: [] },
    isTimed: true,
    signsId: true,
    hasTextKeys: false,
    type: "APPLICATION_AUTHORIZED",
    complete: (event, { deliveryId, type, at }) => ({
      version: 1,
      application_id: "1",
      type: 1,
      // The hash of the body is its id, so events need something that differs.
      event: { type, timestamp: isoTime(at), data: { user: { id: deliveryId } } },
      ...event,
    }),
  },

  sendgrid: {
    form: {
      header: "x-twilio-email-event-webhook-signature",
      prefix: "",
      encoding: "base64",
      idHeaders: [],
    },
    isTimed: true,
    signsId: true,
    hasTextKeys: false,
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
};

/**
 * Returns the sender with this name.
 *
 * @throws ReceiverConfigError `invalid_option` for another name
 */
export function senderOf(scheme: SchemeName): Sender {
  const names = Object.keys(senders).join(", ");
  assertValid(Object.hasOwn(senders, scheme), "scheme", `\`scheme\` must be one of ${names}.`);
  return senders[scheme];
}
