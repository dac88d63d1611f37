import type { Scheme } from "@svc-webhooks/core";
import { fromBase64, isEqual, utf8 } from "../search/bytes.js";

/**
 * Returns the key of a secret. If the key consists of the UTF-8 bytes of the secret, returns the secret itself, so that
 * mistakes with its text can be found. Otherwise, returns the bytes of the key.
 *
 * @param name the secret's name in the text of an error
 * @throws ConfigError `invalid_secret` for a secret that the scheme refuses
 */
export function keyOf(scheme: Scheme, secret: string, name = "secret"): string | Uint8Array {
  const key = scheme.keyBytes?.(secret, name);
  return key === undefined || isEqual(utf8(secret), key) ? secret : key;
}

/** Returns the keys of a secret, as `keyOf` does. A secret of Polar has two: its text, and the base64 in it. */
export function keysOf(scheme: Scheme, secret: string): readonly (string | Uint8Array)[] {
  const decoded = fromBase64(secret.replace(/^whsec_/, ""));
  const isTwo = scheme.name === "polar" && secret.startsWith("whsec_") && decoded.length >= 24;
  return [...(isTwo ? [decoded] : []), keyOf(scheme, secret)];
}
