import { createHash, randomBytes } from "node:crypto";

const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** A position in a repeatable sequence: its seed, and the number of requests for bytes so far. */
export interface IdsPosition {
  readonly seed: string;
  readonly calls: number;
}

/** Generates ids and secrets. */
export interface Ids {
  /** Returns `prefix`, an underscore, and 20 letters and digits. */
  readonly next: (prefix: string) => string;
  /**
   * Returns the result of `ownSecret` or, by default, `whsec_` and 32 letters and digits, which are also valid base64
   * for 24 bytes.
   */
  readonly secret: () => string;
  /** Returns the current position in the sequence, or undefined if ids are random. */
  readonly position: () => IdsPosition | undefined;
  /** Continues at a position. Does nothing if ids are random or the position is undefined. */
  readonly moveTo: (position: IdsPosition | undefined) => void;
}

/**
 * Creates a generator of ids and secrets.
 *
 * @param seed makes the sequence repeatable, for tests and screenshots. Default: random.
 * @param ownSecret returns each secret, in place of a generated one
 */
export function createIds(seed?: string, ownSecret?: () => string): Ids {
  const sequence = seed === undefined ? undefined : createSequence(seed);
  const bytes = sequence?.bytes ?? randomBytes;
  const text = (length: number) => {
    let out = "";
    while (out.length < length) {
      // Skips bytes of 248 (4 × 62) or more, because they would make the first eight of the 62 characters more likely.
      for (const byte of bytes(length))
        if (byte < 248 && out.length < length) out += letters[byte % 62];
    }
    return out;
  };
  return {
    next: (prefix) => `${prefix}_${text(20)}`,
    secret: ownSecret ?? (() => `whsec_${text(32)}`),
    position: () => sequence?.position(),
    moveTo(position) {
      if (position) sequence?.moveTo(position);
    },
  };
}

/**
 * Creates a repeatable sequence of bytes. Each request returns at most 32 bytes, from a hash of the seed and the number
 * of the request, so that the sequences of two seeds do not overlap.
 */
function createSequence(first: string) {
  let seed = first;
  let calls = 0;
  return {
    bytes: (length: number): Uint8Array => {
      calls += 1;
      return createHash("sha256").update(`${seed} ${calls}`).digest().subarray(0, length);
    },
    position: () => ({ seed, calls }),
    moveTo(position: IdsPosition) {
      ({ seed, calls } = position);
    },
  };
}
