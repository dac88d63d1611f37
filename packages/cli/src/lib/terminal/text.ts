import { stripVTControlCharacters } from "node:util";
import { masked } from "../mask.js";

/** Text with what cannot be seen escaped: `\n`, `\u200b`. Spaces stay as they are. */
export const escaped = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) =>
      ({ "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` })[character] ??
      `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );

/**
 * Makes a text one line that does nothing to a terminal: terminal sequences, control and format characters
 * (C0, C1, bidirectional overrides, zero-width) and lone surrogates are removed, other white space than
 * spaces becomes a space.
 */
export const clean = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\s+/gu, (space) => (/^ +$/.test(space) ? space : " "))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "");

/** A text of at most `length` characters. What is longer ends with an ellipsis. */
function cut(text: string, length: number): string {
  const characters = Array.from(text.slice(0, length * 2 + 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

/** Masks before anything is cut, because the start of a secret is not recognised. */
const safe = (text: string, revealed = "") => masked(clean(text), clean(revealed));

/** A text as it is printed: what it contains does nothing to a terminal, and only `revealed` is not masked. */
export const printable = (text: string, length: number, revealed?: string): string =>
  cut(safe(text, revealed), length);

/** The start of a text from outside, as it is printed, without needless spaces. */
export const excerpt = (text: string, length: number): string =>
  cut(safe(text).replaceAll(/ +/g, " ").trim(), length);
