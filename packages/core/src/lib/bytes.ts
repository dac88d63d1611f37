/**
 * Returns whether `value` is a `Uint8Array`. Checks the tag, not the class: edge runtimes and test environments
 * have several `Uint8Array` classes.
 */
export const isBytes = (value: unknown): value is Uint8Array =>
  (value as Partial<Uint8Array> | null | undefined)?.[Symbol.toStringTag] === "Uint8Array";

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * Returns text as its UTF-8 bytes, bytes unchanged, and undefined for any other value. Returns undefined for text with
 * lone surrogates too: an encoder would replace them and produce a different key or body.
 */
export function toBytes(value: unknown): Uint8Array | undefined {
  if (typeof value === "string" && value.isWellFormed()) return utf8(value);
  return isBytes(value) ? value : undefined;
}
