/**
 * Converts an ECDSA signature over P-256 from DER to the 64 bytes that WebCrypto verifies. Returns undefined unless the
 * input is the canonical DER encoding of two positive integers of at most 32 bytes.
 */
export function fromDer(der: Uint8Array): Uint8Array | undefined {
  // A valid signature has at most 72 bytes (two integers of 33 bytes), so each length in it takes one byte.
  if (der.length > 72 || der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const signature = new Uint8Array(64);
  let offset = 2;
  for (const end of [32, 64]) {
    const length = der[offset + 1] ?? 0;
    const integer = der.subarray(offset + 2, offset + 2 + length);
    const digits = integer.subarray(integer[0] === 0 ? 1 : 0);
    const [first = 0] = integer;
    const [next = 0] = digits;
    const isMinimal = first > 0 || next > 127;
    const isInteger = der[offset] === 2 && integer.length === length && first < 128 && isMinimal;
    if (!isInteger || digits.length > 32) return undefined;
    signature.set(digits, end - digits.length);
    offset += 2 + length;
  }
  return offset === der.length ? signature : undefined;
}
