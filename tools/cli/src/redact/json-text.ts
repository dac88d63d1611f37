import { jsonIn } from "../lib/json-in.js";

/** A name, a string or a number in a JSON text. */
export interface JsonToken {
  readonly type: "name" | "string" | "number";
  /** The decoded text of a name or a string, or the digits of a number as they are written. */
  readonly value: string;
  /** The name of the member that contains this token or has it as its name. Undefined outside of objects. */
  readonly name: string | undefined;
  /** The position at which the object with this member begins, or -1 outside of objects. */
  readonly object: number;
  /** The name of the outermost kept member that contains this token or has it as its name. Undefined if none does. */
  readonly keptBy: string | undefined;
}

/** Returns the new text for a token, or undefined to keep its bytes. */
export type Rewrite = (token: JsonToken) => string | undefined;

type Container = Pick<JsonToken, "name" | "object" | "keptBy"> & { readonly isObject: boolean };

const outside: Container = { name: undefined, object: -1, keptBy: undefined, isObject: false };

const numberText = /[-\d.eE+]+/y;

/**
 * Rewrites tokens of a JSON text. Everything that is not rewritten keeps its characters, including white space,
 * escapes, the digits of numbers, and names that occur twice. Works without recursion, so that the text may have any
 * depth.
 *
 * @param text must be JSON
 * @param keeps returns whether a member with this name stays, with everything in it
 */
export function rewriteJson(
  text: string,
  keeps: (name: string) => boolean,
  rewrite: Rewrite,
): string {
  const parts: string[] = [];
  const around: Container[] = [];
  let inner = outside;
  let kept = 0;
  let isName = false;
  const put = (start: number, end: number, token: Pick<JsonToken, "type" | "value">) => {
    const written = rewrite({ ...inner, ...token });
    if (written === undefined || written === token.value) return;
    parts.push(
      text.slice(kept, start),
      token.type === "number" ? written : JSON.stringify(written),
    );
    kept = end;
  };
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === "{" || character === "[") {
      around.push(inner);
      isName = character === "{";
      inner = isName ? { ...inner, object: index, isObject: true } : { ...inner, isObject: false };
    } else if (character === "}" || character === "]") {
      inner = around.pop() ?? outside;
      isName = false;
    } else if (character === ",") isName = inner.isObject;
    else if (character === ":") isName = false;
    else if (character === '"') {
      const end = endOfString(text, index);
      const value = JSON.parse(text.slice(index, end)) as string;
      if (isName) {
        const keptBy = around.at(-1)?.keptBy ?? (keeps(value) ? value : undefined);
        inner = { ...inner, name: value, keptBy };
      }
      put(index, end, { type: isName ? "name" : "string", value });
      index = end - 1;
    } else if (character === "-" || (character >= "0" && character <= "9")) {
      numberText.lastIndex = index;
      const [value = character] = numberText.exec(text) ?? [];
      put(index, index + value.length, { type: "number", value });
      index += value.length - 1;
    }
  }
  return parts.join("") + text.slice(kept);
}

/** Returns the position after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text.charAt(index) !== '"') index += text.charAt(index) === "\\" ? 2 : 1;
  return index + 1;
}

/** Returns whether a text is a JSON object, array or string. */
export const isJsonText = (text: string): boolean =>
  /^\s*[[{"]/.test(text) && jsonIn(text) !== undefined;
