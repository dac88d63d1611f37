import type { HmacKey, MaybePromise, VerificationKey } from "@svc-webhooks/core";
import { concat, utf8, type Source } from "./bytes.js";
import { toHex } from "./hex.js";
import { andThen } from "./maybe-promise.js";

/** A key that computes HMACs, as lowercase hex digits. */
export type SigningKey = Pick<HmacKey, "sign">;

/** The signatures of a request, and the signed text that precedes its body. */
export interface HmacClaim {
  readonly before: string;
  /** 1 to 5 signatures in lowercase hex digits. */
  readonly signatures: readonly string[];
  /** The key that made one of the signatures. Set by `verify` when a signature matches. */
  key?: SigningKey;
}

/** Imports a key. Its `verify` computes one HMAC and compares it with each signature of a claim. */
export const importHmacKey = (
  key: Uint8Array,
  hmac: (key: Uint8Array) => MaybePromise<SigningKey>,
): MaybePromise<VerificationKey<HmacClaim>> =>
  andThen(hmac(key), (imported) => ({
    verify: (body, claim) =>
      andThen(imported.sign(concat(utf8(claim.before), body)), (expected) => {
        let matches = 0;
        for (const signature of claim.signatures) matches += isEqual(expected, signature);
        if (matches > 0) claim.key = imported;
        return matches > 0;
      }),
  }));

/** Returns 1 if two texts are equal, otherwise 0, in a time that depends only on the length of the first text. */
export function isEqual(left: string, right: string): number {
  let difference = left.length ^ right.length;
  for (let index = 0; index < left.length; index += 1) {
    difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  }
  return Number(difference === 0);
}

/** Imports a key for HMAC with any hash that WebCrypto supports. */
export async function importWebHmac(key: Uint8Array, hash: string): Promise<SigningKey> {
  const algorithm = { name: "HMAC", hash };
  const imported = await crypto.subtle.importKey("raw", key as Source, algorithm, false, ["sign"]);
  return {
    sign: async (message) =>
      toHex(new Uint8Array(await crypto.subtle.sign("HMAC", imported, message as Source))),
  };
}
