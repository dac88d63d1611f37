import type { Scheme } from "../scheme.js";
import type { MaybePromise } from "../store.js";

// `#hmac` is the file that implements these types and `ImportHmac` for the current platform.

/**
 * Returns the first 128 bits of the SHA-256 hash as 32 hex digits. The whole hash would take more space in the store,
 * which keeps at least one for each record. A string is encoded as UTF-8.
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
 * Returns a description of the configured keys, for a signature that no active key made: their fingerprints and
 * problems. Returns empty text on platforms where HMACs are asynchronous.
 *
 * @param signature the claim of the scheme or, without one, the 64 hex digits of the signature
 */
export type DescribeKeys = (
  keys: readonly DescribedKey[],
  now: number,
  body: Uint8Array,
  signature: unknown,
  scheme: Scheme | undefined,
) => string;
