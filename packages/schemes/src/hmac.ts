import type {
  HeaderLookup,
  Identified,
  Inspection,
  Scheme,
  SchemeFor,
  SignedBody,
} from "@svc-webhooks/core";
import { bodyId } from "./lib/body-id.js";
import { utf8 } from "./lib/bytes.js";
import { importHmacKey, importWebHmac, type HmacClaim } from "./lib/hmac-key.js";
import {
  assertHmacOptions,
  digests,
  keys,
  lengths,
  unitMs,
  type HeaderOrField,
  type HmacOptions,
} from "./lib/hmac-options.js";
import { keyReader } from "./lib/keys.js";
import { listIn } from "./lib/list-body.js";
import { andThen } from "./lib/maybe-promise.js";
import { inspectList } from "./lib/signature-list.js";
import { filled, single } from "./lib/text.js";
import { timeProblem, toleranceOf } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

/**
 * Returns the scheme of a sender that signs with an HMAC of the body, or of the time and the body. Whatever the options
 * are, the signature is in a header and covers the whole body, and the request chooses neither key nor algorithm.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { hmac } from "svc-webhooks/schemes";
 *
 * export const pagerduty = createReceiver({
 *   scheme: hmac({
 *     name: "pagerduty",
 *     header: "x-pagerduty-signature",
 *     prefix: "v1=",
 *     separator: ",",
 *     encoding: "hex",
 *     id: ({ event }) => (event as { id?: string } | undefined)?.id,
 *     type: ({ event }) => (event as { event_type?: string } | undefined)?.event_type,
 *   }),
 *   secret: process.env.PAGERDUTY_WEBHOOK_SECRET ?? "",
 *   on: { "incident.triggered": ({ event }) => console.log("triggered:", event) },
 * });
 * ```
 */
export function hmac<Event extends TypedEvent = never>(
  options: HmacOptions,
): SchemeFor<Event, HmacClaim> {
  assertHmacOptions(options);
  const {
    name,
    prefix = "",
    separator,
    encoding,
    hash = "SHA-256",
    key = "utf8",
    timestamp,
    before,
  } = options;
  const { id, type, list, handshake, handlerTimeoutMs } = options;
  const toleranceMs = toleranceOf({ toleranceMs: options.toleranceMs });
  const header = options.header.toLowerCase();
  const time = timestamp?.header.toLowerCase();
  const read = digests[encoding](lengths[hash]);
  const size =
    encoding === "hex" ? `${lengths[hash] * 2} hex digits` : `base64 of ${lengths[hash]} bytes`;
  const others = [time, id, type].filter((field) => typeof field === "string");

  return {
    name,
    headers: [...new Set([header, ...others.map((headerName) => headerName.toLowerCase())])],
    form: `${prefix}<${size}>${separator ? `, or several, with only "${separator}" between` : ""}${time ? `, with the time in ${time}` : ""}`,
    notice: noticeOf(options),
    handlerTimeoutMs,

    inspect: (lookup, receivedAt) =>
      inspectList(
        lookup(header),
        { separator, part: /^\S/, version: prefix, read },
        (signatures): Inspection<HmacClaim> => {
          const text = time ? lookup(time) : "";
          const unit = timestamp && unitMs[timestamp.unit];
          // Checks the time first, so that `before` receives only digits.
          return (
            (time && timeProblem(header, text, receivedAt, toleranceMs, unit)) || {
              claim: { before: before?.(text) ?? "", signatures },
            }
          );
        },
      ),

    keyBytes: keyReader(
      keys[key],
      `is not ${key}. Pass the sender's secret in the form set by \`key\`.`,
      (bytes) => bytes.length > 0,
    ),
    importKey: (bytes, importSha256) =>
      importHmacKey(bytes, hash === "SHA-256" ? importSha256 : (raw) => importWebHmac(raw, hash)),

    identify({ body: object, bytes, header: lookup, claim }) {
      const body = object ?? (list ? listIn(bytes, list) : undefined);
      const signing = claim?.key;
      const json = body && signing && handshake?.(body, (text) => signing.sign(utf8(text)));
      return andThen<unknown, Identified>(json, (test) => {
        if (typeof test === "object" && test !== null)
          return { code: "handshake", reply: { body: JSON.stringify(test) } };
        const identifier =
          id === undefined ? bodyId(bytes) : body && filled(readField(id, body, lookup));
        return andThen(identifier, (deliveryId) => ({ deliveryId, body }));
      });
    },

    eventType:
      type === undefined
        ? undefined
        : (body, _bytes, lookup) => {
            const value = readField(type, body, lookup);
            return filled(typeof type === "string" ? single(String(value)) : value);
          },
    eventId: typeof id === "function" ? (body) => filled(id(body)) : undefined,
  } satisfies Scheme<HmacClaim>;
}

const readField = (field: HeaderOrField, body: SignedBody, header: HeaderLookup) =>
  typeof field === "string" ? header(field.toLowerCase()) : field(body);

function noticeOf({ name, id, type }: HmacOptions): string | undefined {
  if (typeof id === "string" && typeof type === "string") {
    return `${name} signs neither the delivery id nor the type, so a captured body can be sent again under another id or as another event.`;
  }
  if (typeof id === "string") {
    return `${name} does not sign the delivery id, so a captured body can be sent again under another id.`;
  }
  if (typeof type === "string") {
    return `${name} does not sign the type, so a captured body can be sent again as another event.`;
  }
  return undefined;
}
