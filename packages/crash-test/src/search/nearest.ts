/** Returns the name that needs the fewest edits to become another one, if at most half of its letters change. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, edits: edits(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits: count }) => count <= name.length / 2)
    .toSorted((one, other) => one.edits - other.edits);
  return best?.name;
}

/** Returns the number of letters to insert, remove or replace (Levenshtein). */
function edits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_none, at) => at);
  for (let place = 1; place <= one.length; place += 1) {
    const next = [place];
    for (let at = 1; at <= other.length; at += 1) {
      const replaced = (row[at - 1] ?? 0) + Number(one[place - 1] !== other[at - 1]);
      next.push(Math.min((row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
