import { jsonIn } from "./json-in.js";

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The maximum number of added line breaks and spaces: a multiple of the text's length, plus a fixed allowance. */
const most = { times: 10, more: 20_000 };

/**
 * Returns JSON with a line for each member, or undefined if the text is not a JSON object or array. Its tokens stay as
 * they are: `JSON.stringify` would round numbers and change escapes.
 *
 * The indentation of deeply nested members grows with the square of their depth. Returns `too_long` if the line breaks
 * and indentation exceed the limit `most`.
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
    // An empty object or array stays on one line.
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
