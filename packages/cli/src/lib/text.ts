import { stripVTControlCharacters } from "node:util";

/** Text with what cannot be seen escaped: `\n`, `\u200b`. Spaces stay as they are. */
export const escaped = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) =>
      ({ "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` })[character] ??
      `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );

/**
 * Makes a text from outside safe for a terminal: terminal sequences, control and format characters
 * (C0, C1, bidirectional overrides, zero-width) and lone surrogates are removed, line breaks and tabs
 * become spaces, and at most `length` characters remain.
 */
export function printable(text: string, length = 1_000): string {
  const clean = stripVTControlCharacters(text.slice(0, length * 4))
    .replaceAll(/[\s\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "")
    .trim();
  const characters = Array.from(clean);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : clean;
}

/** Replaces everything that looks like a signing secret. */
export const masked = (text: string): string => text.replaceAll(/whsec_[^\s"'`.,]{4,}/g, "whsec_…");
