import { toBase64 } from "../lib/base64.js";
import {
  clerk,
  dodoPayments,
  gitlab,
  openai,
  polar,
  replicate,
  resend,
} from "../presets-standard.js";
import { polarSigner, standardWebhooksSigner } from "./hmac-signers.js";
import { isoTime, likeStandardWebhooks, parted } from "./row-parts.js";
import type { StandardPresetName, Row } from "./sender.js";
import { sharedSecret } from "./test-keys.js";

/** Returns the members of a sender whose deliveries have headers that begin with `prefix`. */
const signedWith = (prefix: "webhook" | "svix") =>
  ({
    ...likeStandardWebhooks(prefix, "v1"),
    sign: standardWebhooksSigner(prefix),
    testKeys: sharedSecret("whsec_", 32, toBase64),
    key: "encoded",
  }) satisfies Partial<Row>;

/** The rows of the senders that follow Standard Webhooks. */
export const standardPresets: Readonly<Record<StandardPresetName, Row>> = {
  resend: {
    ...signedWith("svix"),
    label: "Resend",
    secretVariable: "RESEND_WEBHOOK_SECRET",
    scheme: resend(),
    type: "email.delivered",
    complete: (event, { type, at }) => ({
      type,
      created_at: isoTime(at),
      data: { email_id: "56761188", from: "shop@example.test", to: ["ada@example.test"] },
      ...event,
    }),
  },

  clerk: {
    ...signedWith("svix"),
    label: "Clerk",
    secretVariable: "CLERK_WEBHOOK_SIGNING_SECRET",
    scheme: clerk(),
    type: "user.created",
    complete: (event, { type, at }) => ({
      data: { id: "user_1", object: "user" },
      object: "event",
      timestamp: at,
      type,
      ...event,
    }),
  },

  openai: {
    ...signedWith("webhook"),
    label: "OpenAI",
    secretVariable: "OPENAI_WEBHOOK_SECRET",
    scheme: openai(),
    type: "response.completed",
    complete: (event, { deliveryId, type, at }) => ({
      id: deliveryId,
      object: "event",
      created_at: Math.floor(at / 1_000),
      type,
      data: { id: "resp_1" },
      ...event,
    }),
  },

  polar: {
    ...signedWith("webhook"),
    label: "Polar",
    secretVariable: "POLAR_WEBHOOK_SECRET",
    scheme: polar(),
    sign: polarSigner,
    type: "order.paid",
  },

  gitlab: {
    ...signedWith("webhook"),
    label: "GitLab",
    secretVariable: "GITLAB_WEBHOOK_SIGNING_TOKEN",
    scheme: gitlab(),
    type: "merge_request.open",
    complete(event, { type }) {
      const { name, action } = parted(type);
      return {
        object_kind: name,
        project: { id: 1 },
        ...(action && { object_attributes: { id: 1, action } }),
        ...event,
      };
    },
  },

  replicate: {
    ...signedWith("webhook"),
    label: "Replicate",
    secretVariable: "REPLICATE_WEBHOOK_SIGNING_SECRET",
    scheme: replicate(),
    type: "succeeded",
    complete: (event, { type, at }) => ({
      id: "ufawqhfynnddngldkgtslldrkq",
      status: type,
      input: {},
      output: [],
      created_at: isoTime(at),
      ...event,
    }),
  },

  "dodo-payments": {
    ...signedWith("webhook"),
    label: "Dodo Payments",
    secretVariable: "DODO_PAYMENTS_WEBHOOK_KEY",
    scheme: dodoPayments(),
    type: "payment.succeeded",
    complete: (event, { type, at }) => ({
      business_id: "bus_1",
      type,
      timestamp: isoTime(at),
      data: {},
      ...event,
    }),
  },
};
