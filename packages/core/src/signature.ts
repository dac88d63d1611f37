import { importKey } from "#hmac";
import {
  keyBytes,
  matchingSecret,
  parseSecrets,
  unexpired,
  type KnownSecret,
} from "./crypto/keys.js";
import { assertOption } from "./lib/assert.js";
import { toBytes } from "./lib/bytes.js";
import { andThen } from "./lib/maybe-promise.js";
import type { SecretKey, Secrets } from "./options.js";

/** What a signature was found to be. */
export type VerifyResult =
  | { readonly ok: true; readonly secretId: string }
  | { readonly ok: false; readonly code: SignatureProblem };

export type SignatureProblem = "signature_missing" | "signature_malformed" | "signature_mismatch";

/** What is wrong with the shape of an `X-SVC-Signature` value. Two values arrive joined by a comma: malformed. */
export function signatureProblem(
  signature: string,
): Exclude<SignatureProblem, "signature_mismatch"> | undefined {
  if (!signature) return "signature_missing";
  return /^sha256=[0-9a-fA-F]{64}$/.test(signature) ? undefined : "signature_malformed";
}

/**
 * The `X-SVC-Signature` of `body`: `sha256=` and 64 lower-case hex digits of HMAC-SHA256
 * (interface document, "Signature verification rules").
 *
 * @param body the exact bytes; a string stands for its UTF-8 bytes
 * @throws ReceiverConfigError `invalid_secret` for a key that no receiver takes, `invalid_option` for
 *   a body that is neither bytes nor well-formed text (as a rejection)
 */
export async function sign(body: string | Uint8Array, key: SecretKey): Promise<string> {
  const bytes = bodyBytes(body);
  const hmac = await importKey(keyBytes(key));
  return `sha256=${await hmac.sign(bytes)}`;
}

/**
 * Checks an `X-SVC-Signature` value in constant time against one key or a list of them. Expired keys do not count; one must be left.
 *
 * @param signature the header's value; undefined or null where it is absent
 * @returns `{ ok: true, secretId }` (`"default"` for a single key), else `signature_missing`,
 *   `signature_malformed` (not `sha256=` and 64 hex digits) or `signature_mismatch`
 * @throws ReceiverConfigError as `sign` does (as a rejection)
 */
export async function verify(
  body: string | Uint8Array,
  signature: string | null | undefined,
  keys: Secrets,
): Promise<VerifyResult> {
  const given = signature ?? "";
  const code = signatureProblem(given);
  const bytes = bodyBytes(body);
  const secrets = unexpired(known(keys), Date.now());
  if (code) return { ok: false, code };
  return andThen(matchingSecret(secrets, bytes, given), (secret) =>
    secret ? { ok: true, secretId: secret.id } : { ok: false, code: "signature_mismatch" },
  );
}

let last: { readonly key: string; readonly secrets: readonly KnownSecret[] } | undefined;

/** Importing a key costs more than the HMAC of a small body, so the last one is kept; only text, which cannot change. */
function known(keys: Secrets): readonly KnownSecret[] {
  if (typeof keys !== "string") return parseSecrets(keys);
  if (last?.key !== keys) last = { key: keys, secrets: parseSecrets(keys) };
  return last.secrets;
}

function bodyBytes(body: string | Uint8Array): Uint8Array {
  const bytes = toBytes(body);
  assertOption(
    bytes,
    "invalid_option",
    "body",
    "body must be the exact bytes received, or their text.",
  );
  return bytes;
}
