import type { SchemeFor } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { hmac } from "./hmac.js";
import type { HmacClaim } from "./lib/hmac-key.js";
import type { HmacOptions } from "./lib/hmac-options.js";
import { toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

export const zoomOptions: HmacOptions = {
  name: "zoom",
  header: "x-zm-signature",
  prefix: "v0=",
  encoding: "hex",
  timestamp: { header: "x-zm-request-timestamp", unit: "s" },
  before: (time) => `v0:${time}:`,
  handlerTimeoutMs: 2_000,
  async handshake({ event, payload }, sign) {
    const { plainToken } = Object(payload) as { plainToken: string };
    return (
      event === "endpoint.url_validation" && { plainToken, encryptedToken: await sign(plainToken) }
    );
  },
};

/**
 * Returns the scheme of Zoom. `x-zm-signature: v0=<hex>` is the HMAC-SHA256 of `v0:`, the time in
 * `x-zm-request-timestamp`, a colon and the body. The type is the body's `event`. A delivery has no id of its own, so
 * the delivery id is the SHA-256 of the body. A request of the type `endpoint.url_validation` ends as `handshake`.
 *
 * The secret is the app's secret token.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { zoom } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: zoom(),
 *   secret: process.env.ZOOM_WEBHOOK_SECRET_TOKEN ?? "",
 *   on: { "meeting.started": (event) => console.log(event["payload"]) },
 * });
 * ```
 */
export const zoom = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, HmacClaim> =>
  hmac<Event>({ ...zoomOptions, toleranceMs: toleranceOf(options) });

export const lemonSqueezyOptions: HmacOptions = {
  name: "lemonSqueezy",
  header: "x-signature",
  encoding: "hex",
  type: ({ meta }) => (Object(meta) as { event_name?: string }).event_name,
};

/**
 * Returns the scheme of Lemon Squeezy. `X-Signature: <hex>` is the HMAC-SHA256 of the body. The type is the signed
 * `event_name` in the body's `meta`. A delivery has no id of its own, so the delivery id is the SHA-256 of the body.
 * There is no signed time.
 *
 * The secret is the webhook's signing secret.
 *
 * @throws ConfigError `unknown_option` for any option, because there are none
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { lemonSqueezy } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: lemonSqueezy(),
 *   secret: process.env.LEMON_SQUEEZY_SECRET ?? "",
 *   on: { order_created: (event) => console.log(event["data"]) },
 * });
 * ```
 */
export function lemonSqueezy<Event extends TypedEvent = never>(
  options: Readonly<Record<never, never>> = {},
): SchemeFor<Event, HmacClaim> {
  assertOptions(options, []);
  return hmac<Event>(lemonSqueezyOptions);
}
