/**
 * Returns the candidate closest to a misspelled name, ignoring case, or undefined if even that one needs more edits
 * than `share` of the name's length (default: a third). An edit inserts, removes or replaces one character. Only the
 * first 64 characters are compared, which bounds the time.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { nearest } from "svc-webhooks/outcomes";
 *
 * assert.equal(nearest("email.snet", ["email.sent", "domain.updated"]), "email.sent");
 * ```
 */
export function nearest(
  name: string,
  candidates: readonly string[],
  share: number = 1 / 3,
): string | undefined {
  const short = name.slice(0, 64).toLowerCase();
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: edits(short, candidate.slice(0, 64).toLowerCase()) }))
    .filter((comparison) => comparison.edits <= short.length * share)
    .toSorted((a, b) => a.edits - b.edits);
  return best?.candidate;
}

/** Returns the Levenshtein distance: the number of characters to insert, remove or replace to turn `from` into `to`. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const letter of from.split("")) {
    let left = Number(row[0]) + 1;
    const next = to.split("").map((other, column) => {
      const changed = Number(row[column]) + (letter === other ? 0 : 1);
      return (left = Math.min(changed, left + 1, Number(row[column + 1]) + 1));
    });
    row = [Number(row[0]) + 1, ...next];
  }
  return Number(row.at(-1));
}
