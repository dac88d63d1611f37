import { sign, type Scheme } from "@svc-webhooks/core";
import type { HmacClaim } from "@svc-webhooks/schemes";
import { concat, utf8 } from "../search/bytes.js";
import { headerOf, type Arrived } from "./arrived.js";

/**
 * Returns whether a signature has the form of a SHA-256 digest. The search reports every other hash as a mistake, so it
 * must not see a scheme that uses another hash.
 */
const isDigest = (text: unknown) => typeof text === "string" && /^[\da-f]{64}$/.test(text);

/**
 * Returns the claim in the headers if it is well-formed and not stale, and its signatures have the form of HMACs with
 * SHA-256; otherwise undefined.
 */
export function hmacClaimOf(scheme: Scheme, arrived: Arrived): HmacClaim | undefined {
  const { claim } = scheme.inspect((name) => headerOf(arrived, name) ?? "", arrived.at);
  const { before, signatures } = Object(claim) as Partial<HmacClaim>;
  return typeof before === "string" && signatures?.every(isDigest) === true
    ? (claim as HmacClaim)
    : undefined;
}

/** Returns whether a key made one of the signatures of a text and a body. */
export async function isMadeWith(
  key: string | Uint8Array,
  { before, signatures }: HmacClaim,
  { body }: Arrived,
): Promise<boolean> {
  const signature = await sign(concat(utf8(before), body), key);
  return signatures.includes(signature.slice("sha256=".length));
}
