import type { Scheme } from "@svc-webhooks/core";

/**
 * Returns the key of a secret: the bytes that the scheme makes from it, otherwise the text.
 *
 * @param scheme the scheme that decodes the secret. Undefined for the service
 * @param name the secret's name in the text of an error
 * @throws ReceiverConfigError `invalid_secret` for a secret that the scheme refuses
 */
export const keyOf = (
  scheme: Scheme | undefined,
  secret: string,
  name = "secret",
): string | Uint8Array => scheme?.keyBytes?.(secret, name) ?? secret;
