import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { hexDigest } from "./lib/digests.js";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import { textKey } from "./lib/keys.js";
import { inspectOne } from "./lib/one-signature.js";
import { filled } from "./lib/text.js";
import type { TypedEvent } from "./lib/typed-event.js";

const name = "x-hub-signature-256";
const deliveryId = "x-github-delivery";
const event = "x-github-event";

/**
 * Returns the scheme of GitHub. `X-Hub-Signature-256: sha256=<hex>` is the HMAC-SHA256 of the body. The type is
 * `X-GitHub-Event`, with the body's `action` if it has one: `issues.opened`. Neither the delivery id nor the event's
 * name is signed, and there is no signed time.
 *
 * @throws ConfigError `unknown_option` for any option, because there are none
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { github } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: github(),
 *   secret: process.env.GITHUB_WEBHOOK_SECRET ?? "",
 *   on: { "issues.opened": (event) => console.log(event["issue"]) },
 * });
 * ```
 */
export function github<Event extends TypedEvent = never>(
  options: Readonly<Record<never, never>> = {},
): SchemeFor<Event, HmacClaim> {
  assertOptions(options, []);
  return {
    name: "github",
    headers: [name, deliveryId, event],
    form: "sha256=<64 hex digits>",
    notice:
      "GitHub signs neither the delivery id nor the event's name, so a captured body can be sent again under another id or as another event. GitHub does not retry deliveries.",
    handlerTimeoutMs: 9_000,

    inspect: (header) =>
      inspectOne(header(name), "sha256=", hexDigest, (signature) => ({
        claim: { before: "", signatures: [signature] },
      })),

    keyBytes: textKey(() => true, ""),
    importKey: importHmacKey,
    identify: ({ header }) => ({ deliveryId: header(deliveryId) }),

    eventType(body, _bytes, header) {
      // Matches a single header only: two headers arrive joined by a comma.
      const type = /^[\w-]+$/.exec(header(event))?.[0];
      const action = filled(body["action"]);
      return type && action ? `${type}.${action}` : type;
    },
  } satisfies Scheme<HmacClaim>;
}
