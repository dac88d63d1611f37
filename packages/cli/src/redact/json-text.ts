/** A name, a string or a number in a JSON text. */
export interface JsonToken {
  readonly type: "name" | "string" | "number";
  /** The decoded text of a name or a string, or the digits of a number as they are written. */
  readonly value: string;
  /** The names of the members around it, from the outside in. A list adds none. */
  readonly names: readonly string[];
  /** The positions at which the objects begin that have these members. */
  readonly objects: readonly number[];
}

/** Returns the new text for a token, or undefined to keep its bytes. */
export type Rewrite = (token: JsonToken) => string | undefined;

/** The most objects around a token whose names are passed on: listing all of them for each token takes quadratic time. */
const mostDepth = 200;

/** The place of a token that is deeper, so that its value is replaced as a whole. */
const tooDeep: Pick<JsonToken, "names" | "objects"> = { names: ["secret"], objects: [] };

const numberText = /[-\d.eE+]+/y;

/**
 * Rewrites tokens of a JSON text. Everything else keeps its characters: white space, escapes, the digits of numbers,
 * and names that occur twice. Works without recursion, so the depth does not matter.
 *
 * @throws SyntaxError if the text is not JSON
 */
export function rewriteJson(text: string, rewrite: Rewrite): string {
  JSON.parse(text);
  const parts: string[] = [];
  /** Whether each of the containers around the current position is an object. */
  const around: boolean[] = [];
  /** The names of the current members of the objects among them, and where these objects begin. */
  const names: string[] = [];
  const objects: number[] = [];
  let kept = 0;
  let isName = false;
  const place = (isOfName: boolean) =>
    names.length > mostDepth
      ? tooDeep
      : { names: names.slice(0, isOfName ? -1 : undefined), objects: objects.slice() };
  const put = (start: number, end: number, written: string) => {
    parts.push(text.slice(kept, start), written);
    kept = end;
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === "{" || character === "[") {
      isName = character === "{";
      around.push(isName);
      if (isName) {
        names.push("");
        objects.push(at);
      }
    } else if (character === "}" || character === "]") {
      if (around.pop()) {
        names.pop();
        objects.pop();
      }
      isName = false;
    } else if (character === ",") isName = around.at(-1) === true;
    else if (character === ":") isName = false;
    else if (character === '"') {
      const end = endOfString(text, at);
      const value = JSON.parse(text.slice(at, end)) as string;
      const type = isName ? "name" : "string";
      const written = rewrite({ type, value, ...place(isName) });
      if (written !== undefined && written !== value) put(at, end, JSON.stringify(written));
      if (isName) names[names.length - 1] = value;
      at = end - 1;
    } else if (character === "-" || (character >= "0" && character <= "9")) {
      numberText.lastIndex = at;
      const [value = character] = numberText.exec(text) ?? [];
      const written = rewrite({ type: "number", value, ...place(false) });
      if (written !== undefined && written !== value) put(at, at + value.length, written);
      at += value.length - 1;
    }
  }
  return parts.join("") + text.slice(kept);
}

/** Returns the position after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === "\\" ? 2 : 1;
  return at + 1;
}

/** Returns whether a text is a JSON object, list or string. */
export function isJsonText(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
