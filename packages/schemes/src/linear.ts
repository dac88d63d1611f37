import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { hexDigest } from "./lib/digests.js";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { inspectOne } from "./lib/one-signature.js";
import { filled } from "./lib/text.js";
import { staleness, toleranceOf } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "linear-signature";
const deliveryId = "linear-delivery";

export interface LinearOptions {
  /**
   * How far the signed `webhookTimestamp` may be from the receiver's clock, before or after it, in whole milliseconds,
   * 1,000 … 86,400,000. Default 28,800,000 (8 h): the last retry arrives about 7 h after the signed time. Errors:
   * `invalid_option`.
   */
  readonly toleranceMs?: number | undefined;
}

/**
 * The claim of a request from Linear. It keeps the time of arrival, to compare it with the signed time, which is in the
 * body.
 */
export interface LinearClaim extends HmacClaim {
  readonly receivedAt: number;
}

/**
 * Returns the scheme of Linear. `Linear-Signature: <hex>` is the HMAC-SHA256 of the body. The delivery id is
 * `Linear-Delivery`, which is not signed. The type is the body's `type`, with its `action` if it has one:
 * `Issue.create`.
 *
 * The signed time is `webhookTimestamp` in the body. Linear retries after 1 minute, 1 hour and 6 hours (Linear's page
 * on webhooks). Users report that a retry carries the time of the first attempt, so that the limit of 60 s in
 * `@linear/sdk` refuses every retry (github.com/vercel/eve/issues/1570, read November 2026). The default here accepts
 * all retries.
 *
 * The secret is the webhook's signing secret, `lin_wh_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { linear } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: linear(),
 *   secret: process.env.LINEAR_WEBHOOK_SECRET ?? "",
 *   on: { "Issue.create": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export function linear<Event extends TypedEvent = never>(
  options: LinearOptions = {},
): SchemeFor<Event, LinearClaim> {
  const toleranceMs = toleranceOf(options, [], 28_800_000, 86_400_000);
  return {
    name: "linear",
    headers: [name, deliveryId],
    form: "<64 hex digits>",
    notice:
      "Linear does not sign the delivery id, so a captured body can be sent again under another id until its signed time is too old.",
    handlerTimeoutMs: 4_000,

    inspect: (header, receivedAt) =>
      inspectOne(header(name), "", hexDigest, (signature) => ({
        claim: { before: "", signatures: [signature], receivedAt },
      })),

    keyBytes: textKey(
      (key) => !/^lin_(api|oauth)_/.test(key),
      "is a Linear API key or token. Pass the webhook's signing secret.",
    ),
    importKey: importHmacKey,

    identify({ body, header, claim }) {
      const signedAt = body?.["webhookTimestamp"];
      // A resumed delivery has no claim, so its time is not checked.
      const hint = body && claim && staleTime(signedAt, claim.receivedAt, toleranceMs);
      return hint ? { code: "signature_stale", hint } : { deliveryId: header(deliveryId) };
    },

    eventType(body) {
      const type = filled(body["type"]);
      const action = filled(body["action"]);
      return type && action ? `${type}.${action}` : type;
    },
  } satisfies Scheme<LinearClaim>;
}

const staleTime = (signedAt: unknown, receivedAt: number, toleranceMs: number) =>
  Number.isFinite(signedAt)
    ? staleness("webhookTimestamp", signedAt as number, receivedAt, toleranceMs)
    : "webhookTimestamp is not a time in milliseconds";
