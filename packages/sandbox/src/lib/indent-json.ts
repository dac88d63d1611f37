const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Returns JSON with a line for each member, or undefined if the text is not an object or a list. Its tokens stay as
 * they are: `JSON.stringify` would round numbers and change escapes.
 */
export function indentJson(text: string): string | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  let last = "";
  for (const [token] of text.matchAll(tokens)) {
    const isEnd = token === "}" || token === "]";
    const isFirst = last === "{" || last === "[";
    if (isEnd) depth -= 1;
    // An empty object or list stays on its line.
    if (last === "," || isFirst !== isEnd) parts.push("\n", "  ".repeat(depth));
    parts.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return parts.join("");
}
