import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { base64Digest } from "./lib/digests.js";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { inspectOne } from "./lib/one-signature.js";
import { single } from "./lib/text.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "x-shopify-hmac-sha256";
const deliveryId = "x-shopify-webhook-id";
const topic = "x-shopify-topic";

/**
 * Returns the scheme of Shopify's webhooks over HTTPS. `X-Shopify-Hmac-Sha256: <base64>` is the HMAC-SHA256 of the
 * body. The delivery id is `X-Shopify-Webhook-Id`, and the type is `X-Shopify-Topic`, such as `orders/create`. Neither
 * is signed, and there is no signed time. Shopify retries with the original body (shopify.dev, changelog of 10
 * September 2024). The scheme does not verify Shopify's "events", whose headers begin with `Shopify-`.
 *
 * The secret is the app's client secret.
 *
 * @throws ConfigError `unknown_option` for any option, because there are none
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { shopify } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: shopify(),
 *   secret: process.env.SHOPIFY_API_SECRET ?? "",
 *   on: { "orders/create": (event) => console.log(event["order_number"]) },
 * });
 * ```
 */
export function shopify<Event extends TypedEvent = never>(
  options: Readonly<Record<never, never>> = {},
): SchemeFor<Event, HmacClaim> {
  assertOptions(options, []);
  return {
    name: "shopify",
    headers: [name, deliveryId, topic],
    form: "<44 characters of base64>",
    notice:
      "Shopify signs neither the delivery id nor the topic, so a captured body can be sent again under another id or as another event.",
    handlerTimeoutMs: 4_000,

    inspect: (header) =>
      inspectOne(header(name), "", base64Digest, (signature) => ({
        claim: { before: "", signatures: [signature] },
      })),

    keyBytes: textKey(
      (key) => !/^shp(at|ca|pa|ua|tka)_/.test(key),
      "is a Shopify access token. Pass the app's client secret.",
    ),
    importKey: importHmacKey,
    identify: ({ header }) => ({ deliveryId: header(deliveryId) }),
    eventType: (_body, _bytes, header) => single(header(topic)),
  } satisfies Scheme<HmacClaim>;
}
