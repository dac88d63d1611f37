import { importKey } from "#hmac";
import {
  keyBytes,
  matchingSecret,
  parseSecrets,
  unexpired,
  type KnownSecret,
} from "./crypto/keys.js";
import { toBytes } from "./lib/bytes.js";
import { andThen } from "./lib/maybe-promise.js";
import type { SecretKey, Secrets } from "./secrets.js";
import { assertOption } from "./texts/assert.js";

/** The result of `verify`: the id of the key that matched, or the reason why none did. */
export type VerifyResult =
  | { readonly ok: true; readonly secretId: string }
  | { readonly ok: false; readonly code: SignatureProblem };

/** The reason why a signature is refused; also the outcome code of such a delivery. */
export type SignatureProblem = "signature_missing" | "signature_malformed" | "signature_mismatch";

/**
 * Returns the problem with the form of an `X-SVC-Signature` value, or undefined if its form is valid. If a request has
 * the header twice, the values arrive joined by a comma and are malformed.
 */
export function signatureProblem(
  signature: string,
): Exclude<SignatureProblem, "signature_mismatch"> | undefined {
  if (!signature) return "signature_missing";
  return /^sha256=[0-9a-fA-F]{64}$/.test(signature) ? undefined : "signature_malformed";
}

/**
 * Resolves to the `X-SVC-Signature` of `body`: `sha256=` and the 64 lower-case hex digits of its
 * HMAC-SHA256 (interface document, "Signature verification rules").
 *
 * @param body the exact bytes, or text, which is encoded as UTF-8
 * @throws ConfigError (as a rejection) `invalid_secret` for a key that a receiver would refuse,
 *   `invalid_option` for a body that is neither bytes nor well-formed text
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { sign } from "svc-webhooks";
 *
 * const body = '{"type":"email.sent"}';
 * assert.match(await sign(body, "whsec_test"), /^sha256=[0-9a-f]{64}$/);
 * ```
 */
export async function sign(body: string | Uint8Array, key: SecretKey): Promise<string> {
  const bytes = bodyBytes(body);
  const hmac = await importKey(keyBytes(key));
  return `sha256=${await hmac.sign(bytes)}`;
}

/**
 * Resolves to whether one key, or a key in a list, made an `X-SVC-Signature` value. Compares in constant time. Expired
 * keys are skipped; at least one key must be active.
 *
 * @param body the exact bytes, or text, which is encoded as UTF-8
 * @param signature the header's value, undefined or null if it is absent
 * @returns `{ ok: true, secretId }` (`"default"` for a single key), or `{ ok: false, code }` with
 *   `signature_missing`, `signature_malformed` (not `sha256=` and 64 hex digits) or `signature_mismatch`
 * @throws ConfigError (as a rejection) for the same reasons as `sign`, `invalid_secret` for an invalid list or
 *   if no key is active, and `unknown_option` for an unknown member of a listed key
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { sign, verify } from "svc-webhooks";
 *
 * const body = '{"type":"email.sent"}';
 * const signature = await sign(body, "whsec_old");
 * const keys = [
 *   { id: "2026-11", key: "whsec_new" },
 *   { id: "2026-05", key: "whsec_old" },
 * ];
 * assert.deepEqual(await verify(body, signature, keys), { ok: true, secretId: "2026-05" });
 * assert.deepEqual(await verify(`${body} `, signature, keys), {
 *   ok: false,
 *   code: "signature_mismatch",
 * });
 * ```
 */
export async function verify(
  body: string | Uint8Array,
  signature: string | null | undefined,
  keys: Secrets,
): Promise<VerifyResult> {
  const text = signature ?? "";
  const code = signatureProblem(text);
  const bytes = bodyBytes(body);
  const secrets = unexpired(parsed(keys), Date.now());
  if (code) return { ok: false, code };
  return andThen(matchingSecret(secrets, bytes, text.slice(7)), (secret) =>
    secret ? { ok: true, secretId: secret.id } : { ok: false, code: "signature_mismatch" },
  );
}

let cached: { readonly key: string; readonly secrets: readonly KnownSecret[] } | undefined;

/**
 * Parses the keys. Caches the last key that is a string: a string cannot change, and importing a key costs more
 * than the HMAC of a small body.
 */
function parsed(keys: Secrets): readonly KnownSecret[] {
  if (typeof keys !== "string") return parseSecrets(keys);
  if (cached?.key !== keys) cached = { key: keys, secrets: parseSecrets(keys) };
  return cached.secrets;
}

function bodyBytes(body: string | Uint8Array): Uint8Array {
  const bytes = toBytes(body);
  assertOption(bytes, "invalid_option", "body", body);
  return bytes;
}
