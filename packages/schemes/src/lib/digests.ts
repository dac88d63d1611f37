import { fromBase64 } from "./base64.js";
import { toHex } from "./hex.js";

/** Returns a signature as lowercase hex digits, or undefined if the text is not a signature of the expected length. */
export type ReadDigest = (text: string) => string | undefined;

/** Returns a reader of signatures of `length` bytes in hex digits, in either case. */
export const hexOf =
  (length: number): ReadDigest =>
  (text) =>
    text.length === length * 2 && /^[\da-fA-F]+$/.test(text) ? text.toLowerCase() : undefined;

/** Returns a reader of signatures of `length` bytes in base64. */
export const base64Of =
  (length: number): ReadDigest =>
  (text) => {
    const bytes = fromBase64(text);
    return bytes?.length === length ? toHex(bytes) : undefined;
  };

/** Reads an HMAC-SHA256 in hex: 64 digits. */
export const hexDigest: ReadDigest = /* @__PURE__ */ hexOf(32);

/** Reads an HMAC-SHA256 in base64: 44 characters. */
export const base64Digest: ReadDigest = /* @__PURE__ */ base64Of(32);
