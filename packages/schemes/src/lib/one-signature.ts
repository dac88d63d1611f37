import type { Inspection } from "@svc-webhooks/core";

/**
 * Inspects a header that has one signature after a prefix.
 *
 * @param read returns undefined for a text that is not a signature
 * @param inspectRest inspects the other headers
 */
export function inspectOne<Signature, Claim>(
  value: string,
  prefix: string,
  read: (text: string) => Signature | undefined,
  inspectRest: (signature: Signature) => Inspection<Claim>,
): Inspection<Claim> {
  if (!value) return { problem: "signature_missing" };
  const signature = value.startsWith(prefix) ? read(value.slice(prefix.length)) : undefined;
  return signature === undefined ? { problem: "signature_malformed" } : inspectRest(signature);
}
