/** The type of bytes that WebCrypto requires. It excludes views of shared memory, but no body or key is such a view. */
export type Source = Uint8Array<ArrayBuffer>;

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Decodes each byte to one character. */
export const latin1 = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

/** Joins two byte arrays. Returns `second` itself if `first` is empty. */
export function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
