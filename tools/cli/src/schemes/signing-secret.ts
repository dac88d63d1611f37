import { sign, type Scheme } from "@svc-webhooks/core";
import { fingerprint } from "@svc-webhooks/explain";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { requireSecret } from "../lib/secret.js";

/**
 * Returns the key of a secret: the result of the scheme's `keyBytes`, or the text itself if the scheme has no
 * `keyBytes`.
 *
 * @param name the secret's name in the text of an error
 * @throws ConfigError `invalid_secret` for a secret that the scheme refuses
 */
export const keyOf = (scheme: Scheme, secret: string, name = "secret"): string | Uint8Array =>
  scheme.keyBytes?.(secret, name) ?? secret;

/**
 * Reads the secret that signs: the receiver's secret, or the sender's private key if the receiver has a public key.
 *
 * @throws UsageError (as a rejection) if it is missing or cannot be read
 * @throws ConfigError (as a rejection) `invalid_secret` for a secret that the receiver would refuse. A private
 *   key is not checked
 */
export async function requireSigningSecret(
  context: Parameters<typeof requireSecret>[0],
  sender: Sender,
): Promise<string> {
  const secret = await requireSecret(context);
  await assertSigningSecret(secret, sender);
  return secret;
}

/** @throws ConfigError (as a rejection) `invalid_secret`, like {@link requireSigningSecret} */
export async function assertSigningSecret(secret: string, { scheme, key }: Sender): Promise<void> {
  if (key !== "public") await sign("", keyOf(scheme, secret));
}

/** Resolves to the fingerprint of the secret that signs: of its key, or of the text of a private key. */
export const signingFingerprint = (secret: string, { scheme, key }: Sender): Promise<string> =>
  fingerprint(key === "public" ? secret : keyOf(scheme, secret));
