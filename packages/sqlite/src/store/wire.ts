import { createHash } from "node:crypto";

/** Returns the record's key as 16 bytes. Receivers' keys are 32 hex digits; any other key is hashed to that length. */
export const bytesOf = (key: string): Uint8Array =>
  /^[0-9a-f]{32}$/.test(key)
    ? Buffer.from(key, "hex")
    : createHash("sha256").update(key).digest().subarray(0, 16);

/** Encodes text, because drivers cut text at NUL. Receivers' tokens and lineages stay unchanged. */
export const encoded = (text: string): string =>
  /^[\w-]*$/.test(text) ? text : JSON.stringify(text);

export const decoded = (text: string): string =>
  text.startsWith('"') ? (JSON.parse(text) as string) : text;
