import { fingerprint } from "@svc-webhooks/explain";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { requireSecret } from "../lib/secret.js";
import { keyOf } from "./key.js";

/**
 * Reads the secret to sign with: that of the receiver, or the sender's private key.
 *
 * @throws UsageError (as a rejection) if it is missing
 * @throws ReceiverConfigError (as a rejection) `invalid_secret` for a key of another kind
 */
export async function requireSigningSecret(
  context: Parameters<typeof requireSecret>[0],
  { scheme, key }: Sender,
): Promise<string> {
  const secret = await requireSecret(context);
  if (key !== "public") keyOf(scheme, secret);
  return secret;
}

/**
 * Resolves to the fingerprint of the secret that signs.
 *
 * @param sender undefined for the service
 */
export const signingFingerprint = (secret: string, sender: Sender | undefined): Promise<string> =>
  fingerprint(sender && sender.key !== "public" ? keyOf(sender.scheme, secret) : secret);
