import type { MistakeId } from "../mistakes.js";

const anyEscape = /\\(?:u([0-9a-f]{4})|[^u])/gi;

/** Replaces each escape that JSON does not require with its character. */
export const unescaped = (json: string): string =>
  json
    .replaceAll(anyEscape, (escape, digits?: string) => {
      if (digits === undefined) return escape === String.raw`\/` ? "/" : escape;
      return JSON.stringify(String.fromCharCode(parseInt(digits, 16))).slice(1, -1);
    })
    // Decodes surrogate pairs. The first step leaves them as two escapes.
    .replaceAll(/\\u(d[89ab]..)\\u(d[c-f]..)/g, (_pair, high: string, low: string) =>
      String.fromCharCode(parseInt(high, 16), parseInt(low, 16)),
    );

/**
 * Returns a function that compares another serialization of the same JSON with the body. It returns the mistake if one
 * text escapes a character more often than the other, or undefined if both escape the same characters equally often.
 */
export function escapeMistake(body: string): (text: string) => MistakeId | undefined {
  const before = escapesOf(body);
  return (text) => {
    const after = escapesOf(text);
    const added = [...after].filter(([unit, count]) => count > (before.get(unit) ?? 0));
    if (added.length > 0) {
      return added.every(([unit]) => unit === "/") ? "escaped_slashes" : "escaped_unicode";
    }
    const removed = [...before].some(([unit, count]) => count > (after.get(unit) ?? 0));
    return removed ? "unescaped_unicode" : undefined;
  };
}

/**
 * Counts how often a text escapes each character. The keys are the four hex digits of the code unit, or `/` for an
 * escaped slash.
 */
function escapesOf(json: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [escape, digits] of json.matchAll(anyEscape)) {
    if (digits === undefined && escape !== String.raw`\/`) continue;
    const unit = digits?.toLowerCase() ?? "/";
    counts.set(unit, (counts.get(unit) ?? 0) + 1);
  }
  return counts;
}
