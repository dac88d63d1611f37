import { fromBase64 } from "./base64.js";
import { toHex } from "./hex.js";

/** Returns a signature as lower-case hex digits, or undefined if the text is not one of the expected length. */
export type ReadDigest = (text: string) => string | undefined;

/** Reads hex digits of a signature of `length` bytes, in either case. */
export const hexOf =
  (length: number): ReadDigest =>
  (text) =>
    text.length === length * 2 && /^[\da-fA-F]+$/.test(text) ? text.toLowerCase() : undefined;

/** Reads base64 of a signature of `length` bytes. */
export const base64Of =
  (length: number): ReadDigest =>
  (text) => {
    const bytes = fromBase64(text);
    return bytes?.length === length ? toHex(bytes) : undefined;
  };

/** Reads the 64 hex digits of HMAC-SHA256. */
export const hexDigest: ReadDigest = /* @__PURE__ */ hexOf(32);

/** Reads the 44 characters of base64 of HMAC-SHA256. */
export const base64Digest: ReadDigest = /* @__PURE__ */ base64Of(32);
