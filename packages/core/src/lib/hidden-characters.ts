/**
 * Matches control characters, format characters such as bidirectional and zero-width ones, line and paragraph
 * separators, lone surrogates, and characters that are invisible by default. The variation selectors U+FE00 … U+FE0F do
 * not match, because they choose an emoji's form.
 */
export const hiddenCharacters: RegExp =
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
 * Returns the name of a hidden character, such as `RLO`, or its code point, such as `U+00AD`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { characterName, hiddenCharacters } from "svc-webhooks/outcomes";
 *
 * assert.equal("a\u202eb".replaceAll(hiddenCharacters, characterName), "aRLOb");
 * ```
 */
export function characterName(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
