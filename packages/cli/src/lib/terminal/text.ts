import { stripVTControlCharacters } from "node:util";
import { masked } from "../mask.js";

/** Escapes invisible characters: `\n`, `\u200b`. Spaces stay as they are. */
export const escaped = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) =>
      ({ "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` })[character] ??
      `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );

/**
 * Returns a text as one line that is safe on a terminal: terminal sequences, control and format characters (C0,
 * C1, bidirectional overrides, zero-width) and lone surrogates are removed, white space other than spaces
 * becomes a space.
 */
export const clean = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\s+/gu, (space) => (/^ +$/.test(space) ? space : " "))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "");

/** Cuts a text to `length` characters. A longer one ends with an ellipsis. */
function cut(text: string, length: number): string {
  const characters = Array.from(text.slice(0, length * 2 + 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

/** Cleans and masks a text. It is masked before it is cut, because the start of a secret is not recognised. */
const safe = (text: string, revealed = "") => masked(clean(text), clean(revealed));

/** Returns a text for printing: it is safe on a terminal, and every secret except `revealed` is masked. */
export const printable = (text: string, length: number, revealed?: string): string =>
  cut(safe(text, revealed), length);

/** Returns the start of a text from outside for printing, without needless spaces. */
export const excerpt = (text: string, length: number): string =>
  cut(safe(text).replaceAll(/ +/g, " ").trim(), length);
