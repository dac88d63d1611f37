import { stripVTControlCharacters } from "node:util";
import { masked } from "../mask.js";

/** Replaces control and format characters, line separators and lone surrogates with escapes, such as `\n`. */
export const escaped = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) =>
      ({ "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` })[character] ??
      `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );

/**
 * Returns a text as one line that is safe on a terminal: removes terminal sequences, control and format characters
 * (C0, C1, bidirectional overrides, zero-width) and lone surrogates. Replaces each run of white space with one space,
 * unless the run consists only of spaces.
 */
export const clean = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\s+/gu, (space) => (/^ +$/.test(space) ? space : " "))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "");

/** Cuts a text to `length` characters. A text that is cut ends with an ellipsis. */
function cut(text: string, length: number): string {
  const characters = Array.from(text.slice(0, length * 2 + 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

/** Cleans and masks a text. Callers cut it only afterwards, because part of a secret is not recognized. */
const safe = (text: string, revealed = "") => masked(clean(text), clean(revealed));

/** Makes a text safe to print on a terminal, masks secrets except `revealed`, and cuts the result to `length`. */
export const printable = (text: string, length: number, revealed?: string): string =>
  cut(safe(text, revealed), length);

/**
 * Cleans an untrusted text for the terminal, masks its secrets, collapses runs of spaces, and removes spaces at both
 * ends. Cuts the result to `length`.
 */
export const excerpt = (text: string, length: number): string =>
  cut(safe(text).replaceAll(/ +/g, " ").trim(), length);
