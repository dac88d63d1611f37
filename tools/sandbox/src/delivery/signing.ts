import { sign } from "@svc-webhooks/core";
import type { RotationRule, Settings } from "../assumptions/table.js";
import type { HeaderList } from "../network/transport.js";
import type { DeliveryRecord, EndpointRecord } from "../state/records.js";

/** Returns the secret that signs an attempt starting at `now`. */
export function signingSecret(
  { secret, previous }: EndpointRecord,
  pinned: string | undefined,
  rule: RotationRule,
  now: number,
): string {
  switch (rule.mode) {
    case "immediate":
      return secret;
    case "pinned":
      return pinned ?? secret;
    case "deferred":
      return previous && now < previous.until ? previous.secret : secret;
  }
}

/** Returns the signing key for a secret: the whole text, or the bytes of the base64 after `whsec_`. */
export const keyOf = (secret: string, rule: Settings["secret.key"]): string | Uint8Array =>
  rule === "text" ? secret : new Uint8Array(Buffer.from(secret.replace(/^whsec_/, ""), "base64"));

export const signature = (
  body: Uint8Array,
  secret: string,
  rule: Settings["secret.key"],
): Promise<string> => sign(body, keyOf(secret, rule));

/**
 * Returns the headers of an attempt, as the interface document lists them. A tampered attempt may have several
 * signatures or none.
 */
export function deliveryHeaders(
  delivery: DeliveryRecord,
  attempt: number,
  signatures: readonly string[],
): HeaderList {
  return [
    ["Content-Type", "application/json"],
    ["User-Agent", "svc-webhooks-sandbox"],
    ...signatures.map((value) => ["X-SVC-Signature", value] as const),
    ["X-SVC-Delivery-Id", delivery.deliveryId],
    ["Idempotency-Key", delivery.deliveryId],
    ["X-SVC-Subscription-Id", delivery.subscriptionId],
    ["X-SVC-Event-Id", delivery.eventId],
    ["X-SVC-Attempt", String(attempt)],
  ];
}
