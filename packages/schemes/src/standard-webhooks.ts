import type { Scheme, SchemeFor } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { fromBase64 } from "./lib/base64.js";
import { base64Digest } from "./lib/digests.js";
import { importEd25519, isEd25519Key } from "./lib/ed25519.js";
import { importHmacKey } from "./lib/hmac-key.js";
import { assertKey, keyReader } from "./lib/keys.js";
import { inspectList } from "./lib/signature-list.js";
import { timeProblem, toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";

export interface StandardWebhooksOptions extends TimedOptions {
  /**
   * The prefix of the three headers: `"webhook"` (default), or `"svix"` for senders that use Svix. Errors:
   * `invalid_option`.
   */
  readonly headers?: "webhook" | "svix" | undefined;

  /**
   * `"hmac"` (default) accepts signatures of version `v1` and secrets that begin with `whsec_`; `"ed25519"` accepts
   * `v1a` and public keys that begin with `whpk_`. Signatures of the other version are ignored. Errors:
   * `invalid_option`.
   */
  readonly algorithm?: "hmac" | "ed25519" | undefined;
}

/**
 * Matches text that does not belong in a key: the version of a signature at the start, or, after the key's prefix, a
 * second prefix or a character that is not base64.
 */
const foreign = /^v1a?,|(?<=wh(sec|pk)_.*)(wh(sec|pk)_|[^a-z\d+/=])/is;

/** Returns a function that decodes the base64 after a prefix. It returns undefined for any other text. */
const prefixed = (prefix: string) => (key: string) =>
  key.startsWith(prefix) ? fromBase64(key.slice(prefix.length)) : undefined;

const hmac = {
  version: "v1,",
  form: "v1,<44 characters of base64>",
  read: base64Digest,
  importKey: importHmacKey,
  // Requires 24 to 64 bytes, as the specification does (version 1.0.0, section "Signature scheme").
  keyBytes: /* @__PURE__ */ keyReader((key) => {
    const bytes = prefixed("whsec_")(key);
    return bytes && bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
  }, "is not whsec_ followed by 24 to 64 bytes in base64. Pass the endpoint's signing secret, or the bytes of a key in another form."),
};

const ed25519 = {
  version: "v1a,",
  form: "v1a,<88 characters of base64>",
  read: (text: string) => {
    const bytes = fromBase64(text);
    return bytes?.length === 64 ? bytes : undefined;
  },
  importKey: importEd25519,
  keyBytes: /* @__PURE__ */ keyReader(
    prefixed("whpk_"),
    "is not whpk_ followed by an Ed25519 public key in base64. Pass the endpoint's public key, not a secret.",
    isEd25519Key,
  ),
};

/**
 * Returns the scheme of Standard Webhooks 1.0.0. Some senders that use it have a scheme of their own, such as `resend`.
 * `webhook-signature` is `v1,` and the base64 of the HMAC-SHA256, or `v1a,` and the base64 of the Ed25519 signature, of
 * `webhook-id`, a dot, `webhook-timestamp`, a dot and the body. During a rotation, there is one signature for each
 * secret, separated by spaces. The delivery id is the signed `webhook-id`; the type is the body's `type`. Each attempt
 * is signed with its own time.
 *
 * The secret is `whsec_` and the base64 of the HMAC key or, with `algorithm: "ed25519"`, `whpk_` and the base64 of the
 * public key. It can also be the bytes of the key.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { standardWebhooks } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: standardWebhooks(),
 *   secret: process.env.WEBHOOK_SECRET ?? "",
 *   on: { "contact.created": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export function standardWebhooks<Event extends TypedEvent = never>(
  options: StandardWebhooksOptions = {},
): SchemeFor<Event> {
  const toleranceMs = toleranceOf(options, ["headers", "algorithm"]);
  const { headers = "webhook", algorithm = "hmac" } = options;
  assertValid(
    headers === "webhook" || headers === "svix",
    "headers",
    '`headers` must be "webhook" or "svix".',
  );
  assertValid(
    algorithm === "hmac" || algorithm === "ed25519",
    "algorithm",
    '`algorithm` must be "hmac" or "ed25519".',
  );
  const name = `${headers}-signature`;
  const id = `${headers}-id`;
  const timestamp = `${headers}-timestamp`;

  const { version, form, read, importKey, keyBytes } = algorithm === "hmac" ? hmac : ed25519;
  return {
    name: headers === "svix" ? "svix" : "standardWebhooks",
    headers: [name, id, timestamp],
    form: `${form}, with ${id}, and the seconds in ${timestamp}`,

    inspect: (header, receivedAt) =>
      inspectList<unknown, unknown>(
        header(name),
        { separator: " ", part: /^[^\s,]+,[^\s,]+$/, version, read },
        (signatures) => {
          if (!header(id)) return { problem: "signature_malformed" };
          const time = header(timestamp);
          const claim = { before: `${header(id)}.${time}.`, signatures };
          return timeProblem(name, time, receivedAt, toleranceMs) ?? { claim };
        },
      ),

    keyBytes(key, option) {
      const [foreignPart] = (typeof key === "string" && foreign.exec(key)) || [];
      assertKey(
        !foreignPart,
        option,
        foreignPart?.startsWith("v")
          ? `begins with \`${foreignPart}\`, the version of a signature. Remove it.`
          : `contains ${foreignPart && foreignPart > "~" ? `U+${foreignPart.charCodeAt(0).toString(16)}` : JSON.stringify(foreignPart)}, which is not base64. Pass one key alone, or a list.`,
      );
      return keyBytes(key, option);
    },
    importKey,
    identify: ({ header }) => ({ deliveryId: header(id) }),
  } satisfies Scheme;
}
