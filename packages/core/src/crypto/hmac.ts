import type { MaybePromise } from "../store.js";

/**
 * An imported key. Its bytes are not a property, so it cannot be inspected, printed or serialized.
 */
export interface HmacKey {
  /** Returns the HMAC-SHA256 (RFC 2104, FIPS 180-4) of `body`: 64 lower-case hex digits. */
  sign(body: Uint8Array): MaybePromise<string>;
  /**
   * Returns whether `hex` (64 hex digits in either case) is the HMAC of `body`, compared in
   * constant time.
   */
  verify(body: Uint8Array, hex: string): MaybePromise<boolean>;
}

/** `#hmac` selects the file that implements this type and `Fingerprint` on the platform. */
export type ImportKey = (key: Uint8Array) => MaybePromise<HmacKey>;
/**
 * Returns the first 128 bits of SHA-256 as 32 hex digits: short, because a store keeps one per record.
 * A string is encoded as UTF-8.
 */
export type Fingerprint = (data: string | Uint8Array) => MaybePromise<string>;

/** The parts of a secret that its description needs. */
export interface DescribedKey {
  readonly id: string;
  readonly key: unknown;
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
}

/**
 * Describes the configured keys when no active one made a signature: their fingerprints, and what is wrong with
 * each. Empty where HMACs are asynchronous.
 *
 * @param hex the 64 hex digits of the signature
 */
export type DescribeKeys = (
  keys: readonly DescribedKey[],
  now: number,
  body: Uint8Array,
  hex: string,
) => string;
