import type { SecretKey } from "@svc-webhooks/core";
import { fromBase64, fromHex, toBinary, toHex } from "./bytes.js";
import type { MistakeId } from "../mistakes.js";

/** The name of a hash function, as it would appear in the prefix of a value. */
export type Hash = "sha256" | "sha1" | "sha512";

/**
 * Returns the mistakes in how a value encodes this digest: an empty list if there are none, or undefined if the value
 * does not encode it.
 */
export type MistakesIn = (hex: string, hash: Hash) => readonly MistakeId[] | undefined;

/** The mistakes in the value itself, rather than in the algorithm, the key or the body. */
export const valueMistakes: readonly MistakeId[] = [
  "missing_header",
  "secret_in_value",
  "placeholder_value",
  "decorated_value",
  "missing_prefix",
  "wrong_prefix",
  "upper_case_hex",
  "base64",
  "encoded_twice",
  "unpadded_hex",
  "truncated",
];

/**
 * The maximum length of a value that is parsed, in characters. A SHA-512 digest that was hex-encoded twice has 256
 * characters.
 */
const longest = 512;

/** The minimum number of digits of a truncated or unpadded digest: fewer digits could match by chance. */
const shortestTruncated = 16;

/** Returns a mistake that is obvious without computing a digest, or undefined if there is none. */
export function obviousMistake(
  value: string,
  secrets: readonly SecretKey[],
): MistakeId | undefined {
  if (value.trim() === "") return "missing_header";
  // Ignores secrets of fewer than 8 characters, which could be part of a digest by chance.
  const holds = (secret: SecretKey) =>
    typeof secret === "string" && secret.length >= 8 && value.includes(secret);
  if (secrets.some(holds)) return "secret_in_value";
  return /^(?:sha\d+=)?(?:\[object \w+\]|undefined|null|NaN|None|<nil>)?$/.test(value)
    ? "placeholder_value"
    : undefined;
}

/**
 * Parses a value, and returns a function that compares digests with it. The value is parsed only once, because there
 * may be thousands of digests.
 */
export function parseValue(value: string): MistakesIn {
  if (value.length > longest) return () => undefined;
  const bare = value
    .replace(/^\s*x-svc-signature\s*:/i, "")
    .replaceAll(/^(?:[\s"'`[]|b(?=['"]))+|[\s"'`\]]+$/g, "");
  const [, prefix = "", decorated = ""] =
    /^((?:[A-Za-z][\w-]{0,15}[=:]\s*){0,3})(.*)$/s.exec(bare) ?? [];
  // Removes an opening quote, the b' that Python writes before bytes, and the 0x that several languages write before
  // hex.
  const digits = decorated.replace(/^(?:b?['"]|0x(?=[0-9a-f]+$))/i, "");
  const encoding = encodingOf(digits);
  const decoration: readonly MistakeId[] =
    bare === value && digits === decorated ? [] : ["decorated_value"];
  return (hex, hash) => {
    const ids = encoding(hex);
    return ids && [...ids, ...prefixMistakes(prefix, hash), ...decoration];
  };
}

function prefixMistakes(prefix: string, hash: Hash): readonly MistakeId[] {
  // A prefix that correctly names a wrong hash is not a second mistake.
  if (prefix === "sha256=" || prefix === `${hash}=`) return [];
  return prefix === "" ? ["missing_prefix"] : ["wrong_prefix"];
}

/**
 * Returns a function that compares a digest with these digits. It returns the mistakes in the encoding, or undefined if
 * the digest does not match.
 */
function encodingOf(digits: string): (hex: string) => readonly MistakeId[] | undefined {
  const known = new Map<string, readonly MistakeId[]>();
  const add = (hex: string, mistakes: readonly MistakeId[]) => {
    if (!known.has(hex)) known.set(hex, mistakes);
  };
  const lower = digits.toLowerCase();
  const isHex = /^[0-9a-f]+$/.test(lower);
  if (isHex) {
    add(lower, digits === lower ? [] : ["upper_case_hex"]);
    add(toBinary(fromHex(lower)).toLowerCase(), ["encoded_twice"]);
  }
  if (/^[\w+/-]+={0,2}$/.test(digits)) {
    const bytes = fromBase64(digits);
    add(toHex(bytes), ["base64"]);
    add(toBinary(bytes).toLowerCase(), ["encoded_twice"]);
  }
  return (hex) => {
    const exact = known.get(hex);
    if (exact || !isHex || lower.length < shortestTruncated) return exact;
    if (unpadded(hex) === lower || hex.replace(/^0+/, "") === lower) return ["unpadded_hex"];
    return hex.startsWith(lower) ? ["truncated"] : undefined;
  };
}

const unpadded = (hex: string) => hex.replaceAll(/0(.)|(..)/g, "$1$2");
