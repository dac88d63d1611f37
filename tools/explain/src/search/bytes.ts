import { assertValid } from "@svc-webhooks/core/adapter";

export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Copies the bytes of a request's body, because the caller may reuse them later. Refuses a string, which JavaScript
 * callers may pass, because its encoded bytes may differ from those received.
 *
 * @throws ConfigError `invalid_option` for any other value
 */
export function bytesFrom(body: Uint8Array): Bytes {
  // Checks the tag, not the class, because edge runtimes and test environments have several `Uint8Array` classes.
  assertValid(
    Object.prototype.toString.call(body) === "[object Uint8Array]",
    "body",
    "`body` must be the bytes that were received, as a Uint8Array or a Buffer.",
  );
  return new Uint8Array(body);
}

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

/** Joins two byte arrays. Returns `second` itself if `first` is empty. */
export function concat(first: Bytes, second: Bytes): Bytes {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const fromHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Converts bytes to a string with one character per byte. */
export function toBinary(bytes: Uint8Array): string {
  // Converts in chunks, because the number of arguments in a call is limited.
  const size = 8_192;
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    String.fromCharCode(...bytes.subarray(index * size, (index + 1) * size)),
  );
  return chunks.join("");
}

/** Returns the low byte of each UTF-16 unit, like `Buffer.from(text, "latin1")`. */
export function fromBinary(text: string): Bytes {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/** Encodes text as UTF-16, low byte first by default. */
export function utf16(text: string, isBigEndian = false): Bytes {
  const bytes = new Uint8Array(text.length * 2);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    bytes[2 * index + Number(isBigEndian)] = unit;
    bytes[2 * index + Number(!isBigEndian)] = unit >> 8;
  }
  return bytes;
}

/** Decodes base64 or base64url up to the first `=`, skipping other characters, like `Buffer.from(text, "base64")`. */
export function fromBase64(text: string): Bytes {
  const [digits = ""] = text.split("=", 1);
  const kept = digits
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/[^A-Za-z0-9+/]/g, "");
  // Drops a single leftover digit, because it encodes less than a byte.
  return fromBinary(atob(kept.length % 4 === 1 ? kept.slice(0, -1) : kept));
}

export const toBase64 = (bytes: Uint8Array): string => btoa(toBinary(bytes));

/** Decodes UTF-8, and keeps a byte order mark. */
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

export const isEqual = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index]);
