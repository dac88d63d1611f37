import { fromBase64, toBase64 } from "../lib/base64.js";
import { utf8 } from "../lib/bytes.js";
import { fromHex } from "../lib/hex.js";
import { importWebHmac } from "../lib/hmac-key.js";
import { assertHmacOptions, keys, unitMs, type HmacOptions } from "../lib/hmac-options.js";
import { polarKey } from "../presets-standard.js";
import { secondsOf, signedBytes, type Signer, type SignOptions } from "./signer.js";

type Body = string | Uint8Array;

/** Resolves to the HMAC of a text followed by the body, in hex digits. */
async function hexHmac(key: Uint8Array, before: string, body: Body, hash = "SHA-256") {
  const imported = await importWebHmac(key, hash);
  return imported.sign(signedBytes(before, body));
}

const toBase64Text = (hex: string) => toBase64(fromHex(hex) ?? new Uint8Array());

/**
 * Returns the bytes of a decoded secret. Returns no bytes if it could not be decoded, so that signing fails: WebCrypto
 * refuses an empty key.
 */
const decoded = (bytes: Uint8Array | undefined) => bytes ?? new Uint8Array();

/** Returns the HMAC signer of Standard Webhooks for headers that begin with `prefix`. */
export const standardWebhooksSigner =
  (prefix: "webhook" | "svix"): Signer =>
  async (body, options) => {
    const { secret, deliveryId = `msg_${crypto.randomUUID()}` } = options;
    const time = secondsOf(options);
    const key = decoded(fromBase64(secret.replace(/^whsec_/, "")));
    const digits = await hexHmac(key, `${deliveryId}.${time}.`, body);
    return {
      [`${prefix}-signature`]: `v1,${toBase64Text(digits)}`,
      [`${prefix}-id`]: deliveryId,
      [`${prefix}-timestamp`]: time,
    };
  };

/** Signs with the key that Polar uses for secrets created since 8 September 2026 or, if there is none, with the text. */
export const polarSigner: Signer = (body, options) => {
  const key = polarKey(options.secret) ?? utf8(options.secret);
  return standardWebhooksSigner("webhook")(body, { ...options, secret: toBase64(key) });
};

export const stripeSigner: Signer = async (body, options) => {
  const time = secondsOf(options);
  const digits = await hexHmac(utf8(options.secret), `${time}.`, body);
  return { "stripe-signature": `t=${time},v1=${digits}` };
};

export const paddleSigner: Signer = async (body, options) => {
  const time = secondsOf(options);
  const digits = await hexHmac(utf8(options.secret), `${time}:`, body);
  return { "paddle-signature": `ts=${time};h1=${digits}` };
};

export const githubSigner: Signer = async (
  body,
  { secret, deliveryId = crypto.randomUUID(), type = "ping" },
) => ({
  "x-hub-signature-256": `sha256=${await hexHmac(utf8(secret), "", body)}`,
  "x-github-delivery": deliveryId,
  // Sends only the event's name, because the rest of the type is the `action` in the body.
  "x-github-event": type.split(".")[0] ?? type,
});

export const slackSigner: Signer = async (body, options) => {
  const time = secondsOf(options);
  return {
    "x-slack-signature": `v0=${await hexHmac(utf8(options.secret), `v0:${time}:`, body)}`,
    "x-slack-request-timestamp": time,
  };
};

export const shopifySigner: Signer = async (
  body,
  { secret, deliveryId = crypto.randomUUID(), type = "app/uninstalled" },
) => ({
  "x-shopify-hmac-sha256": toBase64Text(await hexHmac(utf8(secret), "", body)),
  "x-shopify-webhook-id": deliveryId,
  "x-shopify-topic": type,
});

export const linearSigner: Signer = async (body, { secret, deliveryId = crypto.randomUUID() }) => ({
  "linear-signature": await hexHmac(utf8(secret), "", body),
  "linear-delivery": deliveryId,
});

/**
 * Returns the signer for a sender that `hmac(options)` describes. The names of the headers are in lower case.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { hmacSigner } from "svc-webhooks/schemes/sign";
 *
 * const sign = hmacSigner({ name: "typeform", header: "typeform-signature", prefix: "sha256=", encoding: "base64" });
 * console.log(await sign('{"event_type":"form_response"}', { secret: "a secret of Typeform" }));
 * ```
 */
export function hmacSigner(options: HmacOptions): Signer {
  assertHmacOptions(options);
  const {
    header,
    prefix = "",
    encoding,
    hash,
    key = "utf8",
    timestamp,
    before,
    id,
    type,
  } = options;
  return async (body, signing: SignOptions) => {
    const { at = Date.now(), deliveryId = crypto.randomUUID() } = signing;
    const time = timestamp && String(Math.floor(at / unitMs[timestamp.unit]));
    const digits = await hexHmac(
      decoded(keys[key](signing.secret)),
      (time && before?.(time)) ?? "",
      body,
      hash,
    );
    const signature = encoding === "hex" ? digits : toBase64Text(digits);
    const headers = [
      [header, prefix + signature],
      [timestamp?.header, time],
      [id, deliveryId],
      [type, signing.type],
    ].filter((pair): pair is [string, string] => pair.every((part) => typeof part === "string"));
    return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  };
}
