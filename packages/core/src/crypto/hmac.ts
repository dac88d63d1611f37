import type { MaybePromise } from "../store.js";

/** An imported key. The key itself stays inside: nothing to inspect, print or serialise. */
export interface HmacKey {
  /** HMAC-SHA256 (RFC 2104, FIPS 180-4) of `body`: 64 lower-case hex digits. */
  sign(body: Uint8Array): MaybePromise<string>;
  /** Whether `hex` (64 hex digits of either case) is the HMAC of `body`, compared in constant time. */
  verify(body: Uint8Array, hex: string): MaybePromise<boolean>;
}

/** The two things the core needs from a platform's cryptography. `#hmac` picks the file that has them. */
export type ImportKey = (key: Uint8Array) => MaybePromise<HmacKey>;
/**
 * The first 128 bits of SHA-256 as 32 hex digits: short, because a store keeps one per record. A
 * string stands for its UTF-8 bytes.
 */
export type Fingerprint = (data: string | Uint8Array) => MaybePromise<string>;
