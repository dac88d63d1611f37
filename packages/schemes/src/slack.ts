import type { Scheme, SchemeFor, SignedBody } from "@svc-webhooks/core";
import { hexDigest } from "./lib/digests.js";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { inspectOne } from "./lib/one-signature.js";
import { filled } from "./lib/text.js";
import { timeProblem, toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "x-slack-signature";
const timestamp = "x-slack-request-timestamp";

/**
 * Returns the scheme of Slack's Events API. `X-Slack-Signature: v0=<hex>` is the HMAC-SHA256 of `v0:`, the time in
 * `X-Slack-Request-Timestamp`, a colon and the body. The delivery id and the event id are the signed `event_id`; the
 * type is `event.type`. A `url_verification` request ends as `handshake`, and the response contains its challenge.
 * Slash commands and interactivity send forms, which are refused as `malformed_body`.
 *
 * The secret is the app's signing secret.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { slack } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: slack(),
 *   secret: process.env.SLACK_SIGNING_SECRET ?? "",
 *   on: { app_mention: (event) => console.log(event["event"]) },
 * });
 * ```
 */
export function slack<Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, HmacClaim> {
  const toleranceMs = toleranceOf(options);
  return {
    name: "slack",
    headers: [name, timestamp],
    form: "v0=<64 hex digits>, with the seconds in x-slack-request-timestamp",
    handlerTimeoutMs: 2_000,

    inspect: (header, receivedAt) =>
      inspectOne(header(name), "v0=", hexDigest, (signature) => {
        const time = header(timestamp);
        const claim = { before: `v0:${time}:`, signatures: [signature] };
        return timeProblem(name, time, receivedAt, toleranceMs) ?? { claim };
      }),

    keyBytes: textKey(
      (key) => !/^xox|^xapp-/.test(key),
      "is a Slack token. Pass the app's signing secret.",
    ),
    importKey: importHmacKey,

    identify({ body }) {
      const challenge = body?.["type"] === "url_verification" && filled(body["challenge"]);
      return challenge
        ? { code: "handshake", reply: { body: JSON.stringify({ challenge }) } }
        : { deliveryId: filled(body?.["event_id"]) };
    },

    eventType: (body) => filled((body["event"] as SignedBody | null | undefined)?.["type"]),
    eventId: (body) => filled(body["event_id"]),
  } satisfies Scheme<HmacClaim>;
}
