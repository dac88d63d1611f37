import { isDate } from "./forms.js";
import type { Kind } from "./names.js";

const assignment = /(?<![\w-])([\w-]{2,60})["']?(\s?[=:]\s?)["']?/g;
const cookie = /(?<![\w-])(?:set-)?cookie2?\s?:\s?([^\n]+)/gi;
const valuePattern = /[^\s&;,"'<>]+/y;

/**
 * Yields the values after names in a text, such as those of `DB_PASSWORD=…`, `password: …`, a line with cookies or the
 * query `?first_name=…`. In a query, all names count; elsewhere, only those of secrets and accounts do.
 */
export function* assignmentsIn(
  text: string,
  kindOf: (name: string) => Kind | undefined,
): Generator<readonly [start: number, end: number]> {
  let from = 0;
  /** The ends of lines with cookies, by the positions of their values. */
  const cookies = new Map(
    Array.from(text.matchAll(cookie), ({ 0: found, 1: value = "", index }) => {
      const end = index + found.length;
      return [end - value.length, end] as const;
    }),
  );
  for (const { 0: found, 1: name = "", 2: sign, index } of text.matchAll(assignment)) {
    if (index < from) continue;
    const end = cookies.get(index + found.length);
    if (end !== undefined) {
      from = end;
      yield [index + found.length, end];
      continue;
    }
    const kind = kindOf(name);
    const isOfQuery = sign === "=" && /[?&]/.test(text.charAt(index - 1));
    if (kind === undefined || !(isOfQuery || kind === "secret" || kind === "account")) continue;
    valuePattern.lastIndex = index + found.length;
    const [value = ""] = valuePattern.exec(text) ?? [];
    if (!/[\p{L}\p{N}]/u.test(value) || isFlag(value) || isDate(value)) continue;
    from = index + found.length + value.length;
    yield [index + found.length, from];
  }
}

const isFlag = (text: string) => /^(?:true|false|null|none|undefined|\d)$/i.test(text);
