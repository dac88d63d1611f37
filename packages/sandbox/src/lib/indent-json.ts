import { jsonIn } from "./json-in.js";

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The maximum length of the result: a multiple of the text's length, plus an allowance for short texts. */
const most = { times: 10, more: 20_000 };

/**
 * Returns JSON with a line for each member, or undefined if the text is not an object or a list. Its tokens stay as
 * they are: `JSON.stringify` would round numbers and change escapes.
 *
 * The indentation of nested members grows with the square of their depth, so the result is `too_long` if it exceeds a
 * multiple of the text's length.
 */
export function indentJson(text: string): { readonly text: string } | "too_long" | undefined {
  if (!/^\s*[{[]/.test(text) || jsonIn(text) === undefined) return undefined;
  const parts: string[] = [];
  let left = text.length * most.times + most.more;
  let depth = 0;
  let last = "";
  for (const [token] of text.matchAll(tokens)) {
    const isEnd = token === "}" || token === "]";
    const isFirst = last === "{" || last === "[";
    if (isEnd) depth -= 1;
    // An empty object or list stays on one line.
    if (last === "," || isFirst !== isEnd) {
      left -= 1 + 2 * depth;
      if (left < 0) return "too_long";
      parts.push("\n", "  ".repeat(depth));
    }
    parts.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return { text: parts.join("") };
}
