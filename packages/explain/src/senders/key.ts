import type { Scheme } from "@svc-webhooks/core";
import { isEqual, utf8 } from "../search/bytes.js";

/**
 * Returns the key of a secret: its text if the UTF-8 bytes of the text are the key, so that mistakes with the text can
 * be found; otherwise the bytes.
 *
 * @param name the secret's name in the text of an error
 * @throws ConfigError `invalid_secret` for a secret that the scheme refuses
 */
export function keyOf(scheme: Scheme, secret: string, name = "secret"): string | Uint8Array {
  const key = scheme.keyBytes?.(secret, name);
  return key === undefined || isEqual(utf8(secret), key) ? secret : key;
}
