import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { fromBase64 } from "./lib/base64.js";
import { bodyId } from "./lib/body-id.js";
import { fromDer } from "./lib/der.js";
import { keyReader } from "./lib/keys.js";
import { listIn } from "./lib/list-body.js";
import { inspectOne } from "./lib/one-signature.js";
import { publicKeyImporter, type PublicKeyClaim } from "./lib/public-key.js";
import { timeProblem, toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "x-twilio-email-event-webhook-signature";
const timestamp = "x-twilio-email-event-webhook-timestamp";

const importKey = /* @__PURE__ */ publicKeyImporter("spki", {
  name: "ECDSA",
  namedCurve: "P-256",
  hash: "SHA-256",
});

function signatureOf(text: string): Uint8Array | undefined {
  const der = fromBase64(text);
  return der && fromDer(der);
}

/**
 * Returns the scheme of SendGrid's signed event webhook. `X-Twilio-Email-Event-Webhook-Signature: <base64>` is the
 * ECDSA signature of the time in `X-Twilio-Email-Event-Webhook-Timestamp` followed by the body. The body is a list,
 * which becomes one event of type `events` with the list in `events`. A handler that fails runs again for the whole
 * list, so handle each event once with `each` of an intake. Its id is made of `sg_message_id`, `event` and `timestamp`,
 * because `sg_event_id` is reported to change on retries (github.com/sendgrid/sendgrid-nodejs, issue 1435). A delivery
 * has no id of its own, so the delivery id is the SHA-256 of the body. SendGrid retries for 24 hours (docs.sendgrid.com,
 * "Troubleshooting the Event Webhook").
 *
 * The secret is the verification key of the mail settings: base64 of a P-256 public key.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { sendgrid } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: sendgrid(),
 *   secret: process.env.SENDGRID_VERIFICATION_KEY ?? "",
 *   on: { events: (event) => console.log(event["events"]) },
 * });
 * ```
 */
export function sendgrid<Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, PublicKeyClaim> {
  const toleranceMs = toleranceOf(options);
  return {
    name: "sendgrid",
    headers: [name, timestamp],
    form: `<base64 of a DER signature>, with the seconds in ${timestamp}`,

    inspect: (header, receivedAt) =>
      inspectOne(header(name), "", signatureOf, (signature) => {
        const time = header(timestamp);
        const claim = { before: time, signatures: [signature] };
        return timeProblem(name, time, receivedAt, toleranceMs) ?? { claim };
      }),

    keyBytes: keyReader(
      fromBase64,
      "is not a P-256 public key in base64. Pass the verification key of the Signed Event Webhook.",
      isP256Key,
    ),
    importKey,

    identify: async ({ body, bytes }) => ({
      deliveryId: await bodyId(bytes),
      body: body ?? listIn(bytes, "events"),
    }),
  } satisfies Scheme<PublicKeyClaim>;
}

/**
 * Returns whether the length and the first byte are those of a P-256 key (SubjectPublicKeyInfo). Importing checks the
 * rest.
 */
const isP256Key = (bytes: Uint8Array) => bytes.length === 91 && bytes[0] === 0x30;
