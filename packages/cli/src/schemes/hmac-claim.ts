import { sign, type Scheme } from "@svc-webhooks/core";
import type { HmacClaim } from "@svc-webhooks/schemes";
import { headerOf } from "../lib/delivery-headers.js";
import type { Arrived } from "./judge.js";

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns what the headers claim, if the scheme's signatures are HMACs and the claim is not stale. */
export function hmacClaimOf(scheme: Scheme, { headers, at }: Arrived): HmacClaim | undefined {
  const { claim } = scheme.inspect((name) => headerOf(headers, name) ?? "", at);
  const { before, signatures } = Object(claim) as Partial<HmacClaim>;
  return typeof before === "string" && signatures?.every((one) => typeof one === "string") === true
    ? (claim as HmacClaim)
    : undefined;
}

/** Returns whether a key made one of the signatures of a text and a body. */
export async function isMadeWith(
  key: string | Uint8Array,
  { before, signatures }: HmacClaim,
  body: Uint8Array,
): Promise<boolean> {
  const signature = await sign(Buffer.concat([utf8(before), body]), key);
  return signatures.includes(signature.slice("sha256=".length));
}
