import { concat, utf8, type Bytes } from "../search/bytes.js";

export { concat, utf8, type Bytes };

/** Decodes UTF-8, and keeps a byte order mark. */
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

export const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, index) => byte === other[index]);
