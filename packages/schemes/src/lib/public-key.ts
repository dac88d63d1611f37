import type { VerificationKey } from "@svc-webhooks/core";
import { concat, utf8, type Source } from "./bytes.js";

/** The signatures of a request, and the signed text that precedes its body. */
export interface PublicKeyClaim {
  readonly before: string;
  /** 1 to 5 signatures of 64 bytes. */
  readonly signatures: readonly Uint8Array[];
}

/** Returns an `importKey` that imports public keys with WebCrypto. An imported key tries every signature of a claim. */
export const publicKeyImporter =
  (format: "raw" | "spki", algorithm: { name: string; namedCurve?: string; hash?: string }) =>
  async (bytes: Uint8Array): Promise<VerificationKey<PublicKeyClaim>> => {
    const key = await crypto.subtle.importKey(format, bytes as Source, algorithm, false, [
      "verify",
    ]);
    return {
      async verify(body, { before, signatures }) {
        const message = concat(utf8(before), body) as Source;
        const verified = await Promise.all(
          signatures.map((signature) =>
            crypto.subtle.verify(algorithm, key, signature as Source, message),
          ),
        );
        return verified.includes(true);
      },
    };
  };
