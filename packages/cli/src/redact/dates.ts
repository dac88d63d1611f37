import { isDate } from "./forms.js";
import type { Substitutes } from "./substitutes.js";

const months =
  "january february march april may june july august september october november december".split(
    " ",
  );

const monthPattern = new RegExp(months.map((month) => `${month}|${month.slice(0, 3)}`).join("|"));

/** Returns whether a text is a moment: a date with a time of day, which is not a secret. */
export const isMoment = (text: string): boolean => isDate(text) && text.includes(":");

/** Returns whether a text has the form of a date, in any order and with names of months in English. */
export const isDateLike = (text: string): boolean => {
  const rest = text.toLowerCase().replace(monthPattern, "1");
  return /^\d{1,8}(?:(?:st|nd|rd|th)?[\s.,/-]{1,2}\d{1,4}){0,2}$/.test(rest);
};

/**
 * Returns a date of the years 1950 to 1999 in the same form, whose day exists in every month. Works for the parts of a
 * date too: a number up to 12 may be a month, and stays one.
 */
export function birthLike(text: string, { bytes }: Pick<Substitutes, "bytes">): string {
  const made = bytes(`birth:${text}`, 16);
  const pick = (index: number, most: number) => (made[index % made.length] ?? 0) % most;
  const part = (digits: string, index: number): string => {
    const number = Number(digits);
    const padded = (value: number) => String(value).padStart(digits.length, "0");
    if (/^(?:19|20)\d{6}$/.test(digits))
      return `${1950 + pick(index, 50)}${twoDigits(1 + pick(1, 12))}${twoDigits(1 + pick(2, 28))}`;
    if (/^\d{4}(?:19|20)\d\d$/.test(digits))
      return `${twoDigits(1 + pick(1, 12))}${twoDigits(1 + pick(2, 12))}${1950 + pick(index, 50)}`;
    if (digits.length === 4) return String(1950 + pick(index, 50));
    if (number <= 12) return padded(1 + pick(index, 12));
    if (number <= 31) return padded(1 + pick(index, 28));
    return digits.length === 2 ? String(50 + pick(index, 50)) : digits.replaceAll(/\d/g, "1");
  };
  return text
    .replaceAll(/\d+/g, part)
    .replaceAll(/[A-Za-z]{3,9}/g, (word, index: number) => monthLike(word, pick(index, 12)));
}

function monthLike(word: string, index: number): string {
  if (!new RegExp(`^(?:${monthPattern.source})$`).test(word.toLowerCase())) return word;
  const month = months[index] ?? "";
  const made = word.length === 3 ? month.slice(0, 3) : month;
  return word === word.toUpperCase()
    ? made.toUpperCase()
    : /^[A-Z]/.test(word)
      ? made.charAt(0).toUpperCase() + made.slice(1)
      : made;
}

const twoDigits = (number: number) => String(number).padStart(2, "0");

/** Returns a date of the 20th century in the same form. The time of day stays. */
export function dateLike(value: string, substitutes: Substitutes): string {
  const [, time = "", isIso] = /^\d{4}-\d\d-\d\d((?:[T ][^]*)?())$/.exec(value) ?? [];
  if (isIso === undefined) return substitutes.whole(value);
  const [year = 0, month = 0, day = 0] = substitutes.bytes(`date:${value}`, 3);
  return `19${50 + (year % 50)}-${twoDigits(1 + (month % 12))}-${twoDigits(1 + (day % 28))}${time}`;
}
