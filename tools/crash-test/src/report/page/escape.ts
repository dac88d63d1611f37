import { characterName, hiddenCharacters } from "@svc-webhooks/core/outcomes";

/*
 * All text of the code under test, such as names of calls, errors and keys, is treated as hostile: it cannot become
 * markup, be hidden, or change the direction of other text.
 */

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");

/** The maximum length of one text on the page, in characters. */
const longest = 500;

const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

/** Returns text for an element. Hidden characters are shown as marks. */
export function textHtml(text: string): string {
  const html = escaped(shortened(text)).replaceAll(
    hiddenCharacters,
    (character) => `<span class="mark">${characterName(character)}</span>`,
  );
  return /\P{ASCII}/u.test(text) ? `<bdi>${html}</bdi>` : html;
}

/** Returns text for an attribute or the title. Hidden characters are written as `‹ESC›`. */
export const plainHtml = (text: string): string =>
  escaped(shortened(text)).replaceAll(
    hiddenCharacters,
    (character) => `‹${characterName(character)}›`,
  );

/** Returns a sentence for an element. Names in backticks are shown as code. */
export const sentenceHtml = (text: string): string =>
  text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? `<code>${textHtml(part)}</code>` : textHtml(part)))
    .join("");
