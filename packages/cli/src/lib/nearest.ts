/** Returns the pairs of neighbouring characters of a name, with a space around it. */
const pairsOf = (name: string): ReadonlySet<string> =>
  new Set(
    Array.from(name, (letter, index) => (name[index - 1] ?? " ") + letter).concat(
      `${name.at(-1)} `,
    ),
  );

/** Returns the name that shares the most pairs of characters with a misspelt one, at least 40 % of them. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const pairs = pairsOf(given.slice(0, 64));
  const [best] = names
    .map((name) => {
      const others = pairsOf(name);
      const shared = Array.from(others).filter((pair) => pairs.has(pair)).length;
      return { name, share: (2 * shared) / (pairs.size + others.size) };
    })
    .filter(({ share }) => share >= 0.4)
    .toSorted((a, b) => b.share - a.share);
  return best?.name;
}
