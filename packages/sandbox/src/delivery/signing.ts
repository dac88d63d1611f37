import { sign } from "@svc-webhooks/core";
import type { RotationRule, Settings } from "../assumptions/table.js";
import type { HeaderList } from "../network/transport.js";
import type { DeliveryRecord, EndpointRecord } from "../state/records.js";

/** The secret that signs an attempt which starts at `now`. */
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

/** The bytes that a secret stands for. */
export const keyOf = (secret: string, rule: Settings["secret.key"]): string | Uint8Array =>
  rule === "text" ? secret : new Uint8Array(Buffer.from(secret.replace(/^whsec_/, ""), "base64"));

export const signature = (
  body: Uint8Array,
  secret: string,
  rule: Settings["secret.key"],
): Promise<string> => sign(body, keyOf(secret, rule));

/** The headers of an attempt, as the interface document lists them; several signatures or none if tampered. */
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
