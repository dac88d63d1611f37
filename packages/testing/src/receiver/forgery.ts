import type { SecretKey } from "@svc-webhooks/core";
import type { SignedDelivery } from "../delivery.js";
import type { Sending } from "../http-sender.js";
import { signingOf } from "../signing.js";

/**
 * Returns the parts that replace those of a genuine delivery. Returns undefined if the change is impossible for the
 * sender, or if the delivery would stay genuine.
 */
export type Change = (
  delivery: SignedDelivery,
  secret: SecretKey,
) => Sending | undefined | Promise<Sending | undefined>;

/**
 * A change after which every receiver must reject a genuine delivery, with the name of the changed delivery and the
 * finding of `doctor` about a receiver that accepts it.
 */
export type Forgery = readonly [finding: ForgeryFinding, name: string, change: Change];

export type ForgeryFinding =
  | "unsigned_accepted"
  | "wrong_secret_accepted"
  | "missing_secret_accepted"
  | "plain_hash_accepted"
  | "weak_hash_accepted"
  | "altered_body_accepted"
  | "compressed_accepted"
  | "prefix_not_checked"
  | "short_signature_accepted";

/** Returns a change that replaces the value of the signature header. A list is sent as separate lines. */
export const withSignature =
  (
    change: (
      genuine: string,
      delivery: SignedDelivery,
      secret: SecretKey,
    ) => string | readonly string[],
  ): Change =>
  (delivery, secret) => {
    const { header } = signingOf(delivery);
    const { headers } = delivery;
    return { headers: { ...headers, [header]: change(headers[header] ?? "", delivery, secret) } };
  };
