export const toHex = (bytes: Uint8Array): string =>
  bytes.reduce((digits, byte) => digits + (byte + 256).toString(16).slice(1), "");

/** Returns the bytes of hex digits in either case, or undefined for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (!/^([\da-fA-F]{2})*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = parseInt(text.slice(index * 2, index * 2 + 2), 16);
  }
  return bytes;
}
