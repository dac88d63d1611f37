import { birthLike, dateLike, isDateLike, isMoment } from "./dates.js";
import { cardLike, isDate, isUuid } from "./forms.js";
import { hostLike, isHost } from "./hosts.js";
import { isJsonText } from "./json-text.js";
import { isVocabulary, type Kind } from "./names.js";
import { coordinateLike, placeLike, regionLike } from "./places.js";
import type { Substitutes } from "./substitutes.js";
import { hasContent, type TextRules } from "./text.js";

/** Returns the substitute of a text whose name promises a kind of value. */
export function substituteOf(
  kind: Kind,
  value: string,
  substitutes: Substitutes,
  text: TextRules,
  level: number,
): string {
  const { whole, words, digits } = substitutes;
  const redact = (one: string) => text.redact(one, "full", level);
  const redactAll = (rest: (one: string) => string) => text.redactAll(value, rest, level);
  /** Replaces each part of a list: by its form, or else as a whole. */
  const listOf = (rest: (one: string) => string) =>
    value.replaceAll(/[^,;]+/g, (part) => {
      const written = redact(part);
      return written === part ? rest(part) : written;
    });
  if (value.trim() === "") return value;
  if (/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(value)) return redact(value);
  if (kind === "secret" || kind === "account") {
    if (isMoment(value)) return value;
    return isUuid(value) ? whole(value) : redactAll(whole);
  }
  if (kind === "chosen" || kind === "birth") {
    if (isDate(value)) return dateLike(value, substitutes);
    const isBirth = kind === "birth" && isDateLike(value);
    return isBirth ? birthLike(value, substitutes) : redactAll(whole);
  }
  if (isDate(value) || /^(?:true|false|null|none|unknown)$/i.test(value)) return value;
  if (isJsonText(value)) return redact(value);
  switch (kind) {
    case "ip":
    case "email":
      return listOf(whole);
    case "domain":
      return isHost(value) ? hostLike(value, substitutes) : listOf(words);
    case "phone":
      return /^[+\d\s().\u00a0/-]+$/.test(value) && /\d/.test(value) ? digits(value) : whole(value);
    case "place":
      return placeLike(value, substitutes);
    case "region":
      return regionLike(value, substitutes);
    case "text":
      return redactAll((one) => aroundTags(one, whole));
    case "person":
      return isReference(value) || isVocabulary(value) ? redact(value) : redactAll(words);
    case "name":
    case "address":
      return redactAll(words);
  }
}

const tag =
  /<\/?(?:a|b|body|br|div|em|h[1-6]|head|html|i|img|li|ol|p|span|strong|table|tbody|td|th|tr|ul)(?=[\s/>])/gi;

/** Replaces a text, but not the names of HTML's tags in it. */
function aroundTags(text: string, whole: (text: string) => string): string {
  const texts = text.split(tag).map((part) => (hasContent(part) ? whole(part) : part));
  const tags = text.match(tag) ?? [];
  return texts.map((part, index) => part + (tags[index] ?? "")).join("");
}

/** Returns whether a text refers to a person by an id, such as `cus_1`. */
const isReference = (text: string) =>
  /^(?:[a-z]{1,10}_[A-Za-z0-9]+|\d+)$/.test(text) || isUuid(text);

/** Returns the substitute of a number as it is written, or undefined to keep it. */
export function numberLike(raw: string, kind: Kind, substitutes: Substitutes): string | undefined {
  const { digits, whole } = substitutes;
  const [, sign = "", integer, fraction, exponent = ""] =
    /^(-?)(\d+)(?:\.(\d+))?([eE][+-]?\d+)?$/.exec(raw) ?? [];
  if (integer === undefined) return undefined;
  if (kind === "place") return coordinateLike(raw, substitutes);
  const isShort = integer.length < 4 && fraction === undefined;
  if (kind === "birth" && /^(?:\d{1,4}|(?:19|20)\d{6})$/.test(raw))
    return String(Number(birthLike(raw, substitutes)));
  if (["email", "name", "person", "region", "text", "domain", "ip"].includes(kind))
    return undefined;
  if (kind === "secret" && isShort) return undefined;
  const card = kind === "account" ? cardLike(raw, substitutes) : undefined;
  if (card !== undefined) return card;
  if (kind === "phone" && fraction === undefined) return sign + digits(integer) + exponent;
  const isSafe = Number.isSafeInteger(Number(integer));
  const made = whole(integer);
  // A safe integer stays one.
  const digitsOnly = isSafe && !Number.isSafeInteger(Number(made)) ? `1${made.slice(1)}` : made;
  const rest = fraction === undefined ? "" : `.${whole(fraction)}`;
  return (
    sign +
    (/\D/.test(digitsOnly + rest.slice(1)) ? integer.replaceAll(/\d/g, "1") : digitsOnly + rest) +
    exponent
  );
}
