const code = "(`+[^`]+`+)";

/** Returns the text that a heading shows: that of its links, without the marks of emphasis and HTML. */
const shown = (heading: string): string =>
  heading
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replaceAll(/\[((?:`[^`]*`|[^\]`])*)\](?:\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replaceAll(new RegExp(`${code}|<[^>]+>|&\\w+;`, "g"), "$1")
    .replaceAll(new RegExp(`${code}|(?<!\\w)_+([^_]+)_+(?!\\w)`, "g"), "$1$2");

/** Returns the fragment under which GitHub links a heading with this Markdown. */
export const fragmentOf = (heading: string): string =>
  shown(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{Nd}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");

/** Returns a page without its blocks of code. */
export const withoutBlocks = (markdown: string): string =>
  markdown.replaceAll(/^ *(`{3,}|~{3,})[^]*?^ *\1 *$/gm, "");

/** A heading of a page, with its level from 1 to 6. */
export interface Heading {
  readonly level: number;
  readonly text: string;
}

/** Returns the headings of a page in their order. */
export const headingsOf = (markdown: string): readonly Heading[] =>
  Array.from(
    withoutBlocks(markdown).matchAll(/^ {0,3}(#{1,6}) +(.*?)(?: +#+)? *$/gm),
    ([, marks = "", text = ""]) => ({ level: marks.length, text }),
  );

/**
 * Returns the fragments of a page's headings in their order. As on GitHub, the second heading with the same text gets
 * `-1`, and the third one `-2`.
 */
export function fragmentsOf(markdown: string): readonly string[] {
  const counts = new Map<string, number>();
  return headingsOf(markdown).map(({ text }) => {
    const fragment = fragmentOf(text);
    const count = counts.get(fragment) ?? 0;
    counts.set(fragment, count + 1);
    return count === 0 ? fragment : `${fragment}-${count}`;
  });
}
