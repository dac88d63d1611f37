import { sign, type Scheme } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { hexDigest } from "../lib/digests.js";
import { importHmacKey, type HmacClaim } from "../lib/hmac-key.js";
import { inspectOne } from "../lib/one-signature.js";
import { filled } from "../lib/text.js";
import type { Sender } from "./sender.js";
import { sharedSecret } from "./test-keys.js";
import { toBase64 } from "../lib/base64.js";

const scheme: Scheme<HmacClaim> = {
  name: "service",
  headers: Object.values(headerNames),
  form: "sha256=<64 hex digits>",
  inspect: (header) =>
    inspectOne(header(headerNames.signature), "sha256=", hexDigest, (signature) => ({
      claim: { before: "", signatures: [signature] },
    })),
  importKey: importHmacKey,
  identify: ({ header }) => ({ deliveryId: filled(header(headerNames.deliveryId)) }),
};

/**
 * Describes the service as one more sender, for tools that treat all senders alike. `senders` does not contain it,
 * because a receiver for the service needs no `scheme` option.
 */
export const service: Sender = {
  name: "service",
  label: "The service",
  secretVariable: "SVC_WEBHOOK_SECRET",
  scheme,
  async sign(body, { secret, deliveryId = `dlv_${crypto.randomUUID()}` }) {
    return {
      [headerNames.signature]: await sign(body, secret),
      [headerNames.deliveryId]: deliveryId,
      [headerNames.idempotencyKey]: deliveryId,
    };
  },
  testKeys: sharedSecret("whsec_", 24, toBase64),
  key: "text",
  form: {
    header: headerNames.signature,
    prefix: "sha256=",
    encoding: "hex",
    idHeaders: [headerNames.deliveryId, headerNames.idempotencyKey],
  },
  isTimed: false,
  signsId: false,
  type: "email.sent",
  complete: (event, { type }) => ({ type, ...event }),
};
