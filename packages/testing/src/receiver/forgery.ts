import type { SecretKey } from "@svc-webhooks/core";
import type { SignedDelivery } from "../delivery.js";
import type { Sending } from "../http-sender.js";
import { signingOf } from "../signing.js";

/** Returns what differs from a genuine delivery, or undefined if it would stay genuine. */
export type Change = (
  delivery: SignedDelivery,
  secret: SecretKey,
) => Sending | undefined | Promise<Sending | undefined>;

/** A delivery that every receiver must reject, with the finding of `doctor` about a receiver that accepts it. */
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

/** Returns a change of the header with the signature. */
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
