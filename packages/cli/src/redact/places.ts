import { isVocabulary } from "./names.js";
import type { Substitutes } from "./substitutes.js";

/** Returns a coordinate between -1 and 1 for a number, or a digit for an integer. */
export function coordinateLike(raw: string, { bytes }: Pick<Substitutes, "bytes">): string {
  const [, sign = "", fraction, exponent = ""] =
    /^(-?)\d+(?:\.(\d+))?([eE][+-]?\d+)?$/.exec(raw) ?? [];
  const made = Array.from(bytes(`place:${raw}`, fraction?.length ?? 1), (byte) => byte % 10);
  return fraction === undefined ? String(made[0]) : `${sign}0.${made.join("")}${exponent}`;
}

/** Replaces each number of a place, such as a latitude before a longitude, or else the whole text. */
export function placeLike(value: string, substitutes: Substitutes): string {
  if (!/\d/.test(value)) return substitutes.whole(value);
  return value
    .replaceAll(/[A-Za-z\u0080-\uffff]{2,}/g, substitutes.whole)
    .replaceAll(/-?\d+(?:\.\d+)?/g, (raw) => coordinateLike(raw, substitutes));
}

/** Codes that are those of a country (ISO 3166-1) and of a state of the USA at the same time. */
const regions = "AL AR AZ CA CO DE GA IL IN LA MA MD ME MN MO MS MT NC NE PA SC SD TN VA".split(
  " ",
);

/** Returns a code for a code of two letters. Other texts are replaced word by word; a state such as `active` stays. */
export function regionLike(value: string, { bytes, words }: Substitutes): string {
  if (isVocabulary(value)) return value;
  if (!/^[A-Z]{2}$/i.test(value)) return words(value);
  const others = regions.filter((one) => one !== value.toUpperCase());
  const made = others[bytes(`region:${value}`, 1).readUInt8() % others.length] ?? "";
  return value === value.toLowerCase() ? made.toLowerCase() : made;
}
