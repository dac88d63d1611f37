import { characterName, hiddenCharacters } from "@svc-webhooks/core/outcomes";

/** A character that is invisible, or that changes how its neighbors are displayed. */
export interface Mark {
  /** The character's name, such as `RLO`, or its code point, such as `U+00AD`. */
  readonly name: string;
}

/**
 * Splits untrusted text into marks and parts that can be shown as they are.
 * @param lines whether line breaks and tabs are shown as they are
 */
export function visible(text: string, lines = false): readonly (string | Mark)[] {
  const parts: (string | Mark)[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(hiddenCharacters)) {
    if (lines && (character === "\n" || character === "\t")) continue;
    if (index > end) parts.push(text.slice(end, index));
    parts.push({ name: characterName(character) });
    end = index + character.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Like `visible`, but returns plain text with marks as `‹NAME›`, for places such as a title. */
export const visibleText = (text: string): string =>
  visible(text)
    .map((part) => (typeof part === "string" ? part : `‹${part.name}›`))
    .join("");
