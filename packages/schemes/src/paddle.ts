import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { pairInspector } from "./lib/paired-signatures.js";
import { filled } from "./lib/text.js";
import { toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "paddle-signature";

/**
 * Returns the scheme of Paddle Billing. In `Paddle-Signature: ts=<seconds>;h1=<hex>`, `h1` is the HMAC-SHA256 of the
 * time, a colon and the body. While a secret is rotated, there is one `h1` for each secret. The delivery id is the
 * signed `notification_id`, the event id is the signed `event_id`, and the type is `event_type`.
 *
 * Paddle's SDK allows only 5 s after the signed time (paddle-node-sdk, `webhooks-validator.ts`), so a busy machine may
 * refuse genuine requests. The default here is 300 s: a replay within that time ends as a duplicate.
 *
 * The secret is the notification destination's, `pdl_ntfset_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { paddle } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: paddle(),
 *   secret: process.env.PADDLE_WEBHOOK_SECRET ?? "",
 *   on: { "transaction.completed": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export function paddle<Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, HmacClaim> {
  return {
    name: "paddle",
    headers: [name],
    form: "ts=<seconds>;h1=<64 hex digits>",
    handlerTimeoutMs: 4_000,

    inspect: pairInspector(
      { header: name, separator: ";", time: "ts=", version: "h1=", between: ":" },
      toleranceOf(options),
    ),

    keyBytes: textKey(
      (key) => !/_apikey_/.test(key),
      "is a Paddle API key. Pass the notification destination's secret key.",
    ),
    importKey: importHmacKey,
    identify: ({ body }) => ({ deliveryId: filled(body?.["notification_id"]) }),
    eventType: (body) => filled(body["event_type"]),
    eventId: (body) => filled(body["event_id"]),
  } satisfies Scheme<HmacClaim>;
}
