import { sign, type Scheme } from "@svc-webhooks/core";
import type { HmacClaim } from "@svc-webhooks/schemes";
import { concat, utf8 } from "../search/bytes.js";
import { headerOf, type Arrived } from "./arrived.js";

/**
 * Returns whether a signature has the form of a SHA-256 digest. The search treats every other hash as a mistake, so
 * schemes that use another hash must not be searched.
 */
const isDigest = (text: unknown) => typeof text === "string" && /^[\da-f]{64}$/.test(text);

/**
 * Returns the claim that the scheme reads from the headers, that is, the signatures and the text that is signed before
 * the body, if the signatures have the form of SHA-256 digests. Returns undefined for other signatures, or if the
 * scheme finds a problem, such as a stale time.
 */
export function hmacClaimOf(scheme: Scheme, arrived: Arrived): HmacClaim | undefined {
  const { claim } = scheme.inspect((name) => headerOf(arrived, name) ?? "", arrived.at);
  const { before, signatures } = Object(claim) as Partial<HmacClaim>;
  return typeof before === "string" && signatures?.every(isDigest) === true
    ? (claim as HmacClaim)
    : undefined;
}

/** Resolves to whether one of the claim's signatures was made with this key, from the claim's text and the body. */
export async function isMadeWith(
  key: string | Uint8Array,
  { before, signatures }: HmacClaim,
  { body }: Arrived,
): Promise<boolean> {
  const signature = await sign(concat(utf8(before), body), key);
  return signatures.includes(signature.slice("sha256=".length));
}
