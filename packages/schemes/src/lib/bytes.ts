/** WebCrypto's types exclude views of shared memory. A body or a key is never one. */
export type Source = Uint8Array<ArrayBuffer>;

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns two runs of bytes as one; the second itself if the first is empty. */
export function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
