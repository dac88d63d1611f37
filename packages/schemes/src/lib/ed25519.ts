import type { VerificationKey } from "@svc-webhooks/core";
import { toHex } from "./hex.js";
import { publicKeyImporter, type PublicKeyClaim } from "./public-key.js";

export const importEd25519: (key: Uint8Array) => Promise<VerificationKey<PublicKeyClaim>> =
  /* @__PURE__ */ publicKeyImporter("raw", { name: "Ed25519" });

/**
 * Returns whether bytes can be a public key: 32 bytes that are not a point of small order. OpenSSL accepts points of
 * small order, although anyone can forge signatures for such a key.
 */
export const isEd25519Key = (key: Uint8Array): boolean => key.length === 32 && !isSmall(key);

/**
 * Returns whether a point is one of the eight whose order divides 8, by its y coordinate (RFC 8032, section 5.1.2): 1
 * for the order 1, -1 for 2, 0 for 4, and for 8 the roots of dy⁴ + 2y² - 1, with d = -121665/121666.
 */
function isSmall(key: Uint8Array): boolean {
  const prime = 2n ** 255n - 19n;
  const y = BigInt(`0x${toHex(key.toReversed())}`) % 2n ** 255n;
  const square = y * y;
  const order8 = 121_665n * square * square - 243_332n * square + 121_666n;
  return (y * (square - 1n) * order8) % prime === 0n;
}
