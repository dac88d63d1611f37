import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { hmac } from "./hmac.js";
import { latin1 } from "./lib/bytes.js";
import type { HmacClaim } from "./lib/hmac-key.js";
import type { HmacOptions } from "./lib/hmac-options.js";
import type { TypedEvent } from "./lib/typed-event.js";

export const woocommerceOptions: HmacOptions = {
  name: "woocommerce",
  header: "x-wc-webhook-signature",
  encoding: "base64",
  type: "x-wc-webhook-topic",
};

/**
 * Returns the scheme of WooCommerce. `X-WC-Webhook-Signature: <base64>` is the HMAC-SHA256 of the body. The type is
 * `X-WC-Webhook-Topic`, such as `order.created`, which is not signed. There is no signed time.
 *
 * The delivery id is the SHA-256 of the body. It is not `X-WC-Webhook-Delivery-ID`: that is a hash of the webhook's id
 * and the current second, so two events of one second have the same one (woocommerce, `class-wc-webhook.php`).
 *
 * When a webhook is activated, WooCommerce sends an unsigned form with the webhook's id, which only the status 200
 * acknowledges. The receiver responds with 200, and the request ends as `handshake`.
 *
 * The secret is the webhook's.
 *
 * @throws ConfigError `unknown_option` for any option, because there are none
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { woocommerce } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: woocommerce(),
 *   secret: process.env.WOOCOMMERCE_WEBHOOK_SECRET ?? "",
 *   on: { "order.created": (event) => console.log(event["id"]) },
 * });
 * ```
 */
export function woocommerce<Event extends TypedEvent = never>(
  options: Readonly<Record<never, never>> = {},
): SchemeFor<Event, HmacClaim> {
  assertOptions(options, []);
  return {
    ...hmac(woocommerceOptions),
    greeting: {
      // The id has up to 20 digits.
      maxBytes: 31,
      respond: (bytes) =>
        /^webhook_id=\d+$/.test(latin1(bytes)) ? { code: "handshake" } : undefined,
    },
  } satisfies Scheme<HmacClaim>;
}
