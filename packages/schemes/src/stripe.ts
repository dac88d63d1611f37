import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { pairInspector } from "./lib/paired-signatures.js";
import { filled } from "./lib/text.js";
import { toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "stripe-signature";

/**
 * Returns the scheme of Stripe. In `Stripe-Signature: t=<seconds>,v1=<hex>`, `v1` is the HMAC-SHA256 of the time, a dot
 * and the body. While a secret is rolled, there is one `v1` for each secret. `v0` is for tests and is not compared. The
 * delivery id and the event id are the signed `id` of the event.
 *
 * The secret is the endpoint's, `whsec_…`; its UTF-8 text is the key.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { stripe } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: stripe(),
 *   secret: process.env.STRIPE_WEBHOOK_SECRET ?? "",
 *   on: { "invoice.paid": (event, { deliveryId }) => console.log(deliveryId, event["data"]) },
 * });
 * ```
 */
export function stripe<Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, HmacClaim> {
  return {
    name: "stripe",
    headers: [name],
    form: "t=<seconds>,v1=<64 hex digits>",

    inspect: pairInspector(
      { header: name, separator: ",", time: "t=", version: "v1=", between: "." },
      toleranceOf(options),
    ),

    keyBytes: textKey(
      (key) => /^whsec_[\w+/=-]+$/.test(key),
      "is not a Stripe endpoint's signing secret. Pass the secret that begins with whsec_, not an API key.",
    ),
    importKey: importHmacKey,
    identify: ({ body }) => ({ deliveryId: filled(body?.["id"]) }),
    eventId: (body) => filled(body["id"]),
  } satisfies Scheme<HmacClaim>;
}
