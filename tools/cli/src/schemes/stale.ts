import type { Scheme } from "@svc-webhooks/core";
import { objectIn } from "../lib/json-in.js";

/**
 * Resolves to whether a receiver refuses a signed request as `signature_stale`.
 *
 * @param at the time that the receiver's clock shows, in epoch milliseconds
 */
export async function isStaleAt(
  scheme: Scheme,
  headers: Readonly<Record<string, string>>,
  bytes: Uint8Array,
  at: number,
): Promise<boolean> {
  const header = (name: string) => headers[name] ?? "";
  const { problem, claim } = scheme.inspect(header, at);
  if (problem) return problem === "signature_stale";
  const { code } = await scheme.identify({ body: objectIn(bytes), bytes, header, claim });
  return code === "signature_stale";
}
