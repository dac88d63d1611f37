import type { SecretKey } from "@svc-webhooks/core";
import type { SignedDelivery } from "../delivery.js";
import type { Sending } from "../http-sender.js";
import { signingOf } from "../signing.js";

/**
 * Returns the parts of a request that replace those of a genuine delivery. Returns undefined if the change is
 * impossible for the sender, or if the delivery would stay genuine.
 */
export type Change = (
  delivery: SignedDelivery,
  secret: SecretKey,
) => Sending | undefined | Promise<Sending | undefined>;

/**
 * A change that turns a genuine delivery into one that every receiver must reject. `name` describes the changed
 * delivery. `finding` is what `svc-webhooks doctor` reports if a receiver accepts it.
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

/** Returns a change that replaces the value of the signature header. A list from `change` is sent as separate lines. */
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
