/** By its tag, not its class: edge runtimes and test environments have several `Uint8Array`. */
export const isBytes = (value: unknown): value is Uint8Array =>
  (value as Partial<Uint8Array> | null | undefined)?.[Symbol.toStringTag] === "Uint8Array";

/** The UTF-8 bytes of `text`. */
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * Text as its UTF-8 bytes, bytes as they are, nothing of anything else: nor of lone surrogates, for
 * which an encoder would put replacement characters, and make another key or body.
 */
export function toBytes(value: unknown): Uint8Array | undefined {
  if (typeof value === "string" && value.isWellFormed()) return utf8(value);
  return isBytes(value) ? value : undefined;
}
