import { sign, type SecretKey } from "@svc-webhooks/core";

/**
 * Resolves to 8 hex digits that identify a key, the same as in the receiver's log. They are the first digits of the
 * HMAC-SHA256 of "svc-webhooks fingerprint v1" with that key. Resolves to `short key` for a key of fewer than 24 bytes,
 * which could be guessed from the digits.
 *
 * @throws ConfigError `invalid_secret` (as a rejection) for a key that a receiver would refuse
 *
 * @example
 * ```ts
 * import { fingerprint } from "@svc-webhooks/explain";
 *
 * console.log(await fingerprint(process.env.SVC_WEBHOOK_SECRET ?? ""));
 * ```
 */
export async function fingerprint(secret: SecretKey): Promise<string> {
  const label = await sign("svc-webhooks fingerprint v1", secret);
  const { length } = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
  return length < 24 ? "short key" : label.slice(7, 15);
}
