import type { Scheme, SchemeFor, Unsigned } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { hmac } from "./hmac.js";
import { isEqual, type HmacClaim } from "./lib/hmac-key.js";
import type { HmacOptions } from "./lib/hmac-options.js";
import { filled } from "./lib/text.js";
import type { TypedEvent } from "./lib/typed-event.js";

export interface MetaOptions {
  /**
   * The text that is also the "Verify token" in the settings of the app. With it, the receiver responds to the GET
   * request with which Meta verifies the endpoint. Default: GET requests are refused. Errors: `invalid_option`.
   */
  readonly verifyToken?: string | undefined;
}

export const metaOptions: HmacOptions = {
  name: "meta",
  header: "x-hub-signature-256",
  prefix: "sha256=",
  encoding: "hex",
  type: ({ object }) => object as string,
};

/**
 * Returns the scheme of Meta: WhatsApp, Messenger, Instagram. `X-Hub-Signature-256: sha256=<hex>` is the HMAC-SHA256 of
 * the body. The type is the body's `object`, such as `whatsapp_business_account`. A delivery has no id of its own, so
 * the delivery id is the SHA-256 of the body. There is no signed time.
 *
 * The secret is the app secret.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { meta } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: meta({ verifyToken: process.env.META_VERIFY_TOKEN ?? "" }),
 *   secret: process.env.META_APP_SECRET ?? "",
 *   on: { whatsapp_business_account: (event) => console.log(event["entry"]) },
 * });
 * ```
 */
export function meta<Event extends TypedEvent = never>(
  options: MetaOptions = {},
): SchemeFor<Event, HmacClaim> {
  assertOptions(options, ["verifyToken"]);
  const { verifyToken } = options;
  assertValid(
    verifyToken === undefined || filled(verifyToken),
    "verifyToken",
    "`verifyToken` is empty or not text. Set its environment variable to the text that is the verify token in the settings of the app at Meta.",
  );
  return {
    ...hmac(metaOptions),
    challenge: (url) => respondTo(url, verifyToken),
  } satisfies Scheme<HmacClaim>;
}

const headers = {
  "content-type": "text/plain; charset=utf-8",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** Responds to the request that verifies an endpoint. Returns undefined for every other request. */
function respondTo(url: string | undefined, verifyToken: string | undefined): Unsigned | undefined {
  const query = new URLSearchParams(url?.split("?")[1]);
  const [modes, tokens, [challenge = "", ...others]] = ["mode", "verify_token", "challenge"].map(
    (name) => query.getAll(`hub.${name}`),
  ) as [string[], string[], string[]];
  const isMeta =
    modes.join(" ") === "subscribe" && tokens.length < 2 && /^[\w.~-]{1,256}$/.test(challenge);
  if (!isMeta || others.length > 0) return undefined;
  const [token = ""] = tokens;
  if (verifyToken === undefined)
    return {
      code: "method_not_allowed",
      hint: "Meta's request that verifies the endpoint was refused. Pass meta({ verifyToken }) with the verify token in the settings of the app at Meta",
    };
  return isEqual(verifyToken, token)
    ? { code: "handshake", reply: { headers, body: challenge } }
    : {
        code: "method_not_allowed",
        hint: "a request that verifies the endpoint has another verify token. Set `verifyToken` to the one in the settings of the app at Meta",
      };
}
