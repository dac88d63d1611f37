/**
 * Returns the bytes of padded base64, or undefined for any other text. With `atob` alone, several texts would stand for
 * one signature or key, because it accepts white space, missing padding and more than one encoding of the last byte.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    if (btoa(binary) !== text) return undefined;
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
    return bytes;
  } catch {
    return undefined;
  }
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
