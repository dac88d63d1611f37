import { createHash, randomBytes } from "node:crypto";

const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Makes identifiers and secrets. */
export interface Ids {
  /** `prefix` and 20 letters and digits. */
  readonly next: (prefix: string) => string;
  /** `whsec_` and 32 letters and digits, which are base64 of 24 bytes at the same time. */
  readonly secret: () => string;
}

/** @param seed makes the sequence repeatable, for tests and screenshots. Default: random. */
export function createIds(seed?: string): Ids {
  const bytes = seed === undefined ? randomBytes : seededBytes(seed);
  const text = (length: number) => {
    let out = "";
    while (out.length < length) {
      // 248 is the largest multiple of 62 in a byte: the rest would favour the first letters.
      for (const byte of bytes(length))
        if (byte < 248 && out.length < length) out += letters[byte % 62];
    }
    return out;
  };
  return { next: (prefix) => `${prefix}_${text(20)}`, secret: () => `whsec_${text(32)}` };
}

/** Hashes, because the sequences of two seeds must never meet. */
function seededBytes(seed: string): (length: number) => Uint8Array {
  let calls = 0;
  return (length) => {
    calls += 1;
    return createHash("sha256").update(`${seed} ${calls}`).digest().subarray(0, length);
  };
}
