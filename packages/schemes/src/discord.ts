import type { Scheme, SchemeFor, SignedBody } from "@svc-webhooks/core";
import { bodyId } from "./lib/body-id.js";
import { importEd25519, isEd25519Key } from "./lib/ed25519.js";
import { fromHex } from "./lib/hex.js";
import { keyReader } from "./lib/keys.js";
import { inspectOne } from "./lib/one-signature.js";
import type { PublicKeyClaim } from "./lib/public-key.js";
import { filled } from "./lib/text.js";
import { timeProblem, toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "x-signature-ed25519";
const timestamp = "x-signature-timestamp";

/** The only response that Discord accepts (discord-api-docs, `webhook-events.mdx`, read November 2026). */
const reply = { status: 204, headers: {}, body: "" };

const signatureOf = (text: string) => (text.length === 128 ? fromHex(text) : undefined);

/**
 * Returns the scheme of Discord's webhook events, not its interactions. `X-Signature-Ed25519: <hex>` is the Ed25519
 * signature of the time in `X-Signature-Timestamp` and the body. The type is `event.type`, such as
 * `APPLICATION_AUTHORIZED`. A delivery has no id of its own, so the delivery id is the SHA-256 of the body. A PING ends
 * as `handshake`. Discord tests endpoints with wrong signatures; the receiver responds 401, as required.
 *
 * The secret is the application's public key in hex digits.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { discord } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: discord(),
 *   secret: process.env.DISCORD_PUBLIC_KEY ?? "",
 *   on: { APPLICATION_AUTHORIZED: (event) => console.log(event["event"]) },
 * });
 * ```
 */
export function discord<Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event, PublicKeyClaim> {
  const toleranceMs = toleranceOf(options);
  return {
    name: "discord",
    headers: [name, timestamp],
    form: `<128 hex digits>, with the seconds in ${timestamp}`,
    handlerTimeoutMs: 2_000,

    inspect: (header, receivedAt) =>
      inspectOne(header(name), "", signatureOf, (signature) => {
        const time = header(timestamp);
        const claim = { before: time, signatures: [signature] };
        return timeProblem(name, time, receivedAt, toleranceMs) ?? { claim };
      }),

    keyBytes: keyReader(
      fromHex,
      "is not an Ed25519 public key of 64 hex digits. Pass the application's public key.",
      isEd25519Key,
    ),
    importKey: importEd25519,

    identify: async ({ body, bytes }) =>
      body?.["type"] === 0
        ? { code: "handshake", reply }
        : { deliveryId: await bodyId(bytes), reply },

    eventType: (body) => filled((body["event"] as SignedBody | null | undefined)?.["type"]),
  } satisfies Scheme<PublicKeyClaim>;
}
