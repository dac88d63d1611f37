import { createHmac } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";

/** Replaces values with substitutes of the same shape. Equal values get equal substitutes if the key is equal too. */
export interface Substitutes {
  /** Replaces a text, unless it is only white space. */
  readonly text: (value: string) => string;
  /**
   * Replaces the name of an entry in a map. A short name gets a longer substitute, so that two names hardly ever get
   * equal ones.
   */
  readonly entry: (value: string) => string;
  /**
   * Replaces the digits of a number, but keeps its exponent, which is cut to three digits. The integer part does not
   * grow, so that a schema's upper limit still holds. 0 and 1 stay, because they may be flags.
   */
  readonly number: (value: string) => string;
}

const lower = "abcdefghijklmnopqrstuvwxyz";
const hexDigits = "0123456789abcdef";

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
const isoDate =
  /^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)((?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)$/;
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]{3}$/;
const numericDate = /^\d{1,2}([./-])\d{1,2}\1\d{4}$/;
const url = /^(https?|wss?):\/\/./i;
const email = /^[^\s@/]{1,64}@[^\s@/]{1,255}$/;

/** Matches the prefix of an id of the service. */
const idPrefix = /^(?:msg|send|we|evt|dlv|sub|dom|src)_(?=[A-Za-z\d]+$)/;

/**
 * Returns whether a text is a date with a time of day, or a time of this century in seconds or milliseconds since 1970.
 */
export const isMoment = (text: string): boolean =>
  (/\d:\d/.test(text) &&
    (isoDate.test(text) || httpDate.test(text)) &&
    !Number.isNaN(Date.parse(text))) ||
  /^[1-3]\d{9}(?:\.\d{1,6}|\d{3})?$/.test(text);

/** @param key the key of the run, which is not stored */
export function createSubstitutes(key: Uint8Array): Substitutes {
  const hash = (data: string | Buffer) => createHmac("sha256", key).update(data).digest();

  const bytes = (value: string, length: number): Buffer => {
    const blocks = [hash(value)];
    // Computes each block from the one before it, because hashing the value for every block would take quadratic time.
    while (blocks.length * 32 < length) blocks.push(hash(blocks.at(-1) ?? ""));
    return Buffer.concat(blocks).subarray(0, length);
  };

  const hex = (value: string) => bytes(value, 6).toString("hex");

  /**
   * Calls `make` with new bytes until its result differs from the value. After `mostRounds`, returns a single letter,
   * repeated to the length of the value.
   */
  const different = (
    value: string,
    make: (stream: Buffer) => string,
    isOther = (substitute: string) => substitute.toLowerCase() !== value.toLowerCase(),
  ): string => {
    for (let round = 0; ; round += 1) {
      const substitute = make(bytes(`${round}:${value}`, value.length + 16));
      if (isOther(substitute)) return substitute;
      if (round === mostRounds)
        return lower.charAt(bytes(value, 1).readUInt8() % 26).repeat(value.length);
    }
  };

  const emailLike = (value: string) =>
    `user-${hex(value.normalize("NFKC").toLowerCase())}@example.test`;

  const urlLike = (value: string) =>
    `${url.exec(value)?.[1]?.toLowerCase()}://${hex(value)}.example.test/`;

  /** Replaces the email addresses and URLs in a text with others, and the rest character by character. */
  const proseLike = (value: string): string => {
    const plain = withoutMarks(value);
    return different(value, (stream) =>
      plain.replaceAll(/[^\s<>"'(),;]+|[^]/gu, (word, offset: number) => {
        const [, bare = word, end = ""] = /^(.*?)([.:!?]?)$/su.exec(word) ?? [];
        if (url.test(bare)) return urlLike(bare) + end;
        if (email.test(bare)) return emailLike(bare) + end;
        return alike(word, stream.subarray(offset));
      }),
    );
  };

  const text = (value: string): string => {
    if (value.trim() === "") return value;
    if (email.test(value)) return emailLike(value);
    if (url.test(value) && !/\s/.test(value)) return urlLike(value);
    if (isoDate.test(value) || httpDate.test(value) || numericDate.test(value))
      return different(value, (stream) => dateLike(value, stream));
    if (isIPv4(value)) return different(value, (stream) => `198.18.${stream[0]}.${stream[1]}`);
    if (isIPv6(value)) return different(value, ipv6Like);
    if (isHex(value)) return different(value, (stream) => hexLike(value, stream));
    const [prefix = ""] = idPrefix.exec(value) ?? [];
    return prefix + proseLike(value.slice(prefix.length));
  };

  return {
    text,
    entry: (value) =>
      email.test(value) || value.replaceAll(/[^\p{L}\p{N}]/gu, "").length >= shortestEntry
        ? text(value)
        : `entry-${String(bytes(value, 6).readUIntBE(0, 6)).padStart(15, "0")}`,
    number(value) {
      const [, sign = "", integer = "", fraction = "", exponent = ""] =
        /^(-?)(\d+)(\.\d+)?(e[+-]?\d{1,3})?/i.exec(value) ?? [];
      const isZeroOrOne = /^[01]$/.test(integer) && !/[1-9]/.test(fraction);
      if (isZeroOrOne && (integer === "0" || !/[1-9]/.test(exponent)))
        return sign + integer + fraction;
      const mantissa = (stream: Buffer) =>
        isZeroOrOne
          ? `0.${1 + (stream.readUInt8() % 9)}`
          : integerLike(integer, stream) + fractionLike(fraction, stream);
      return different(
        value,
        (stream) => sign + mantissa(stream) + exponent,
        (substitute) => substitute !== value,
      );
    },
  };
}

/** The number of rounds after which `different` gives up. */
const mostRounds = 50;

/**
 * The minimum number of letters and digits of an entry's name that is replaced like any text. The substitutes of
 * shorter texts could be equal.
 */
const shortestEntry = 12;

/**
 * The number of leading digits of an integer that are replaced as one number, because a JavaScript number is exact only
 * up to 15 digits.
 */
const comparedDigits = 15;

/** Returns a smaller integer with the same number of digits, or one digit fewer for a power of ten. 0 and 1 stay. */
function integerLike(integer: string, stream: Buffer): string {
  const most = Number(integer.slice(0, comparedDigits));
  if (most <= 1) return integer;
  const power = 10 ** Math.min(integer.length - 1, comparedDigits - 1);
  const least = most === power ? power / 10 : power;
  const head = least + Math.floor((stream.readUIntBE(0, 6) / 2 ** 48) * (most - least));
  const rest = Array.from(stream.subarray(6, Math.max(6, integer.length - comparedDigits + 6)));
  return String(head) + rest.map((byte) => byte % 10).join("");
}

/** Replaces the digits of a fraction, unless all are zeros: such a number may have to be an integer. */
const fractionLike = (fraction: string, stream: Buffer): string =>
  /[1-9]/.test(fraction)
    ? fraction.replaceAll(/\d/g, (_digit, offset: number) => String((stream[offset + 8] ?? 0) % 10))
    : fraction;

/**
 * Returns a date from 1950 to 2029 in the same form. Fractions and time zones become 0. In a numeric date, the month is
 * used as the day too, because their order is unknown.
 */
function dateLike(value: string, stream: Buffer): string {
  const moment = new Date(Date.UTC(1950, 0) + (stream.readUIntBE(0, 5) / 2 ** 40) * eightyYears);
  const iso = moment.toISOString();
  const [, digits, rest = ""] = isoDate.exec(value) ?? [];
  if (digits !== undefined)
    return (
      digits.replaceAll(/\d/g, (_digit, offset: number) => iso.charAt(offset)) +
      rest.replaceAll(/\d/g, "0")
    );
  return httpDate.test(value)
    ? moment.toUTCString()
    : value.replaceAll(/\d+/g, (part) =>
        part.length === 4
          ? iso.slice(0, 4)
          : String(Number(iso.slice(5, 7)))
              .padStart(part.length, "0")
              .slice(-2),
      );
}

const eightyYears = Date.UTC(2030, 0) - Date.UTC(1950, 0);

/** Returns an IPv6 address from the range for documentation (RFC 3849). */
const ipv6Like = (stream: Buffer): string =>
  `2001:db8:${stream.toString("hex", 0, 12).match(/.{4}/g)?.join(":")}`;

const isHex = (value: string) =>
  uuid.test(value) || (/^[\da-f-]{16,}$/i.test(value) && /\d/.test(value) && /[a-f]/i.test(value));

/** Replaces hex digits. In a UUID, the version and the variant stay. */
function hexLike(value: string, stream: Buffer): string {
  const isUuid = uuid.test(value);
  const isUpper = value === value.toUpperCase();
  const digits = Array.from(value, (digit, index) => {
    if (digit === "-" || (isUuid && (index === 14 || index === 19))) return digit;
    const substitute = hexDigits.charAt((stream[index] ?? 0) % 16);
    return isUpper ? substitute.toUpperCase() : substitute;
  });
  return digits.join("");
}

const marks = /[!-/:-@[-`{-~]/g;
const markRuns = new RegExp(`${marks.source}{3,}`, "g");

/**
 * Replaces punctuation that may be content, as in a password, with `x`: all of it if it is more than half of the text,
 * and otherwise three or more marks in a row, except `://`.
 */
function withoutMarks(value: string): string {
  const { length } = value.replaceAll(/\s/g, "");
  return (value.match(marks)?.length ?? 0) * 2 > length
    ? value.replaceAll(marks, "x")
    : value.replaceAll(markRuns, (run) => (run === "://" ? run : "x".repeat(run.length)));
}

/** Replaces all characters except white space and ASCII punctuation. Removes combining marks and format characters. */
function alike(word: string, stream: Buffer): string {
  let isFirst = true;
  const characters = Array.from(word, (character, index) => {
    const byte = stream[index] ?? 0;
    if (/\p{Nd}/u.test(character)) {
      const digit = isFirst && character !== "0" ? 1 + (byte % 9) : byte % 10;
      isFirst = false;
      return String(digit);
    }
    if (/[\p{M}\p{Cf}]/u.test(character)) return "";
    if (/^[\s!-/:-@[-`{-~]$/u.test(character)) return character;
    const letter = lower.charAt(byte % 26);
    return /[\p{Lu}\p{Lt}]/u.test(character) ? letter.toUpperCase() : letter;
  });
  return characters.join("");
}
