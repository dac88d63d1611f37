/** A character that is invisible, or that changes how its neighbours are displayed. */
export interface Mark {
  /** The character's name, such as `RLO`, or its code point, such as `U+00AD`. */
  readonly name: string;
}

/**
 * Matches controls, format characters such as bidirectional and zero-width ones, line and paragraph separators, lone
 * surrogates, and characters that fonts leave out. It does not match the selectors between two forms of an emoji.
 */
const hidden =
  /(?![\uFE00-\uFE0F])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const names: Readonly<Record<number, string>> = {
  0x00: "NUL",
  0x07: "BEL",
  0x08: "BS",
  0x09: "TAB",
  0x0a: "LF",
  0x0d: "CR",
  0x1b: "ESC",
  0x7f: "DEL",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
};

/**
 * Splits untrusted text into parts that can be shown as they are, and marks. @param lines keeps line breaks and tabs
 */
export function visible(text: string, lines = false): readonly (string | Mark)[] {
  const parts: (string | Mark)[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(hidden)) {
    if (lines && (character === "\n" || character === "\t")) continue;
    if (index > end) parts.push(text.slice(end, index));
    parts.push({ name: nameOf(character.codePointAt(0) ?? 0) });
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

const nameOf = (code: number) =>
  names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
