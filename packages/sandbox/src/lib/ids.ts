import { createHash, randomBytes } from "node:crypto";

const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Generates ids and secrets. */
export interface Ids {
  /** Returns `prefix`, an underscore, and 20 letters and digits. */
  readonly next: (prefix: string) => string;
  /** Returns `whsec_` and 32 letters and digits, which are also valid base64 for 24 bytes. */
  readonly secret: () => string;
}

/** @param seed makes the sequence repeatable, for tests and screenshots. Default: random. */
export function createIds(seed?: string): Ids {
  const bytes = seed === undefined ? randomBytes : seededBytes(seed);
  const text = (length: number) => {
    let out = "";
    while (out.length < length) {
      // 248 is the largest multiple of 62 in a byte. Values above it would favour the first letters.
      for (const byte of bytes(length))
        if (byte < 248 && out.length < length) out += letters[byte % 62];
    }
    return out;
  };
  return { next: (prefix) => `${prefix}_${text(20)}`, secret: () => `whsec_${text(32)}` };
}

/** Generates bytes by hashing, because the sequences of two seeds must never overlap. */
function seededBytes(seed: string): (length: number) => Uint8Array {
  let calls = 0;
  return (length) => {
    calls += 1;
    return createHash("sha256").update(`${seed} ${calls}`).digest().subarray(0, length);
  };
}
