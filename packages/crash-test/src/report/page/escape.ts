/*
 * All text of the code under test is hostile: the names of handlers, errors, keys. Nothing in it can become markup,
 * hide, or change the direction of its surroundings.
 */

/** Controls, format characters such as bidirectional ones, separators of lines, and lone surrogates. */
const hidden =
  /(?![\uFE00-\uFE0F])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const names: Readonly<Record<number, string>> = {
  0x00: "NUL",
  0x09: "TAB",
  0x0a: "LF",
  0x0d: "CR",
  0x1b: "ESC",
  0x7f: "DEL",
  0x200b: "ZWSP",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x202d: "LRO",
  0x202e: "RLO",
  0xfeff: "BOM",
};

const nameOf = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  return names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
};

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");

/** The most characters of one text on the page. */
const longest = 500;

const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

/** Returns text for an element. Hidden characters are shown as marks. */
export function textHtml(text: string): string {
  const html = escaped(shortened(text)).replaceAll(
    hidden,
    (character) => `<span class="mark">${nameOf(character)}</span>`,
  );
  return /\P{ASCII}/u.test(text) ? `<bdi>${html}</bdi>` : html;
}

/** Returns text for an attribute or the title. Hidden characters are written as `‹ESC›`. */
export const plainHtml = (text: string): string =>
  escaped(shortened(text)).replaceAll(hidden, (character) => `‹${nameOf(character)}›`);

/** Returns a sentence for an element. Names in backticks are shown as code. */
export const sentenceHtml = (text: string): string =>
  text
    .split("`")
    .map((part, at) => (at % 2 === 1 ? `<code>${textHtml(part)}</code>` : textHtml(part)))
    .join("");
