import { sign, type Scheme } from "@svc-webhooks/core";
import { fingerprint } from "@svc-webhooks/explain";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { requireSecret } from "../lib/secret.js";

/**
 * Returns the key of a secret: the bytes that the scheme makes from it, otherwise the text.
 *
 * @param name the secret's name in the text of an error
 * @throws ReceiverConfigError `invalid_secret` for a secret that the scheme refuses
 */
export const keyOf = (scheme: Scheme, secret: string, name = "secret"): string | Uint8Array =>
  scheme.keyBytes?.(secret, name) ?? secret;

/**
 * Reads the secret to sign with: that of the receiver, or the sender's private key.
 *
 * @throws UsageError (as a rejection) if it is missing
 * @throws ReceiverConfigError (as a rejection) `invalid_secret` for a secret that the receiver would refuse
 */
export async function requireSigningSecret(
  context: Parameters<typeof requireSecret>[0],
  sender: Sender,
): Promise<string> {
  const secret = await requireSecret(context);
  await assertSigningSecret(secret, sender);
  return secret;
}

/** @throws ReceiverConfigError (as a rejection) like {@link requireSigningSecret} */
export async function assertSigningSecret(secret: string, { scheme, key }: Sender): Promise<void> {
  if (key !== "public") await sign("", keyOf(scheme, secret));
}

/** Resolves to the fingerprint of the secret that signs. */
export const signingFingerprint = (secret: string, { scheme, key }: Sender): Promise<string> =>
  fingerprint(key === "public" ? secret : keyOf(scheme, secret));
