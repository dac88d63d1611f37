import { createHmac } from "node:crypto";

/** Makes substitutes. Equal values get equal substitutes; other keys give other substitutes. */
export interface Substitutes {
  /** Replaces each letter with a letter and each digit with a digit. The value is one unit. */
  readonly whole: (value: string) => string;
  /** Like `whole`, but each word is a unit, so that a first name has its substitute within a full name too. */
  readonly words: (value: string) => string;
  /** Replaces the digits after the first one. Spelling does not matter: `+1 555 0100` and `15550100` agree. */
  readonly digits: (value: string) => string;
  /** Returns `length` bytes for a value. */
  readonly bytes: (value: string, length: number) => Buffer;
}

const lower = "abcdefghijklmnopqrstuvwxyz";
const hexDigits = "0123456789abcdef";

/** @param key the key of the run, which is stored nowhere */
export function createSubstitutes(key: Uint8Array): Substitutes {
  const hash = (data: string | Buffer) => createHmac("sha256", key).update(data).digest();

  const bytes = (value: string, length: number): Buffer => {
    const blocks = [hash(value)];
    // Each block is made of the one before it, because hashing the value for each of them takes quadratic time.
    while (blocks.length * 32 < length) blocks.push(hash(blocks.at(-1) ?? ""));
    return Buffer.concat(blocks).subarray(0, length);
  };

  /** Runs `make` with other bytes until the result differs from the value. */
  const different = (value: string, seed: string, make: (stream: Buffer) => string): string => {
    for (let round = 0; round < 8; round += 1) {
      const result = make(bytes(`${round}:${seed}`, value.length));
      if (result.toLowerCase() !== value.toLowerCase()) return result;
    }
    return lower.charAt(bytes(seed, 1).readUInt8() % 26).repeat(value.length);
  };

  const whole = (value: string): string =>
    value.trim() === ""
      ? value
      : different(value, canonical(value), (stream) =>
          isHex(value) ? hexLike(value, stream) : alike(value, stream),
        );

  return {
    bytes,
    whole,
    words: (value) => value.replaceAll(/[^\s\p{P}\p{S}]+/gu, whole),
    digits(value) {
      const plain = value.replaceAll(/\D/g, "");
      const core = plain.replace(/^0+/, "");
      if (core.length < 2) return whole(value);
      const made = different(core, core, (stream) => core.charAt(0) + alike(core.slice(1), stream));
      const all = plain.slice(0, plain.length - core.length) + made;
      let used = 0;
      return value.replaceAll(/\d/g, () => all.charAt(used++));
    },
  };
}

const canonical = (value: string) => value.normalize("NFKC").toLowerCase();

const isHex = (value: string) =>
  /^[\da-f-]{16,}$/i.test(value) && /\d/.test(value) && /[a-f]/i.test(value);

/** Replaces hex digits. In a UUID, the version and the variant stay. */
function hexLike(value: string, stream: Buffer): string {
  const isUuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(value);
  const isUpper = value === value.toUpperCase();
  const digits = Array.from(value, (digit, index) => {
    if (digit === "-" || (isUuid && (index === 14 || index === 19))) return digit;
    const made = hexDigits.charAt((stream[index] ?? 0) % 16);
    return isUpper ? made.toUpperCase() : made;
  });
  return digits.join("");
}

/** Replaces letters and digits, and everything that is not ASCII. A text of punctuation alone becomes letters. */
function alike(value: string, stream: Buffer): string {
  const hasContent = /[A-Za-z\d]|[^\0-\u007f]/.test(value);
  let index = 0;
  let isFirst = true;
  const characters = Array.from(value.normalize("NFC"), (character) => {
    const byte = stream[index % Math.max(stream.length, 1)] ?? 0;
    index += 1;
    if (/\s/u.test(character)) return character;
    if (/\p{Nd}/u.test(character)) {
      const isZero = isFirst && character !== "0";
      isFirst = false;
      return String(isZero ? 1 + (byte % 9) : byte % 10);
    }
    isFirst = false;
    if (/\p{M}|\p{Cf}/u.test(character)) return "";
    const letter = lower.charAt(byte % 26);
    if (/\p{Lu}|\p{Lt}/u.test(character)) return letter.toUpperCase();
    if (/\p{L}/u.test(character) || character > "\u007f") return letter;
    return hasContent ? character : letter;
  });
  return characters.join("");
}
