import type { Scheme, SchemeFor, SecretKey } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { hmac } from "./hmac.js";
import { latin1, utf8 } from "./lib/bytes.js";
import { importHmacKey, type HmacClaim } from "./lib/hmac-key.js";
import type { HmacOptions } from "./lib/hmac-options.js";
import { assertKey } from "./lib/keys.js";
import { andThen } from "./lib/maybe-promise.js";
import type { TypedEvent } from "./lib/typed-event.js";

export interface NotionOptions {
  /**
   * Whether the receiver may have an empty `secret`, and then logs the verification token that Notion sends first. Only
   * the first such request is logged. Anyone can send one, but Notion accepts only its own token. With a secret, the
   * option has no effect. Default false. Errors: `invalid_option`.
   */
  readonly setup?: boolean | undefined;
}

export const notionOptions: HmacOptions = {
  name: "notion",
  header: "x-notion-signature",
  prefix: "sha256=",
  encoding: "hex",
  id: ({ id }) => id as string,
  type: ({ type }) => type as string,
};

/** The claim of a request from Notion. */
export interface NotionClaim extends HmacClaim {
  /** Whether the receiver has no secret, so that only the token in the body made the signature. Set by `verify`. */
  isFirst?: true;
}

/** The longest body that contains a verification token, in bytes. */
const maxBytes = 1_024;

/** The key of a receiver that has no secret yet. No text has this byte in UTF-8. */
const marker = 0xff;

const isMarker = (key: Uint8Array | undefined) => key?.length === 1 && key[0] === marker;

/** Returns the token in a body that consists of nothing else. */
const tokenIn = (bytes: Uint8Array) =>
  bytes.length <= maxBytes
    ? /^[\t\n\r ]*\{[\t\n\r ]*"verification_token"[\t\n\r ]*:[\t\n\r ]*"([\w.~-]{8,256})"[\t\n\r ]*\}[\t\n\r ]*$/.exec(
        latin1(bytes),
      )?.[1]
    : undefined;

const greet = (token: string) => ({
  code: "handshake" as const,
  hint: `the verification token in the request is ${token}. Enter it in Notion, which accepts only its own token. Then set it as the secret, and restart`,
});

/**
 * Returns the scheme of Notion. `X-Notion-Signature: sha256=<hex>` is the HMAC-SHA256 of the body. The delivery id and
 * the event id are the signed `id` of the event, which is the same for all attempts, although their bodies differ. The
 * type is the body's `type`. There is no signed time.
 *
 * The secret is the verification token, which Notion sends to the endpoint when the subscription is created. To
 * receive it, start the receiver with `notion({ setup: true })` and an empty secret. The receiver logs the token of the
 * first such request. Enter it in Notion, set it as the secret, and restart.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { notion } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: notion({ setup: true }),
 *   secret: process.env.NOTION_WEBHOOK_VERIFICATION_TOKEN ?? "",
 *   on: { "page.created": (event) => console.log(event["entity"]) },
 * });
 * ```
 */
export function notion<Event extends TypedEvent = never>(
  options: NotionOptions = {},
): SchemeFor<Event, NotionClaim> {
  assertOptions(options, ["setup"]);
  const { setup = false } = options;
  assertValid(typeof setup === "boolean", "setup", "`setup` must be true or false.");
  const scheme = hmac(notionOptions);

  return {
    ...scheme,

    keyBytes(secret: SecretKey | undefined, option) {
      if (secret === undefined || secret === "") {
        assertKey(
          setup && option === "secret",
          option,
          "is empty. Set it to the verification token. To receive the token from Notion, pass notion({ setup: true }) and an empty `secret`, which must not be a function or a list.",
        );
        return Uint8Array.of(marker);
      }
      const key = scheme.keyBytes?.(secret, option) ?? Uint8Array.of();
      assertKey(!isMarker(key), option, "is too short to be a key.");
      return key;
    },

    // Notion signs the first request with the token that it contains (notion-sdk-js, pull request 722), which is the
    // only request that a receiver without a secret accepts.
    importKey: (key, hmacOf) =>
      isMarker(key)
        ? {
            verify(body, claim) {
              const token = tokenIn(body);
              if (token === undefined) return false;
              return andThen(importHmacKey(utf8(token), hmacOf), (own) =>
                andThen(own.verify(body, claim), (ok) => {
                  if (ok) claim.isFirst = true;
                  return ok;
                }),
              );
            },
          }
        : importHmacKey(key, hmacOf),

    identify(request) {
      const token = tokenIn(request.bytes);
      if (token === undefined) return scheme.identify(request);
      return request.claim?.isFirst ? greet(token) : { code: "handshake" };
    },

    greeting: {
      maxBytes,
      respond(bytes, [key, ...others]) {
        const token = isMarker(key?.bytes) && others.length === 0 ? tokenIn(bytes) : undefined;
        return token === undefined ? undefined : greet(token);
      },
    },
  } satisfies Scheme<NotionClaim>;
}
