/** Returns the pairs of adjacent characters in a name that is padded with a space on either side. */
const pairsOf = (name: string): ReadonlySet<string> =>
  new Set(
    Array.from(name, (letter, index) => (name[index - 1] ?? " ") + letter).concat(
      `${name.at(-1)} `,
    ),
  );

/**
 * Returns the name whose character pairs overlap most with those of a misspelt one, if they overlap by at least 40 %.
 */
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

/** Returns a question that names the nearest name and ends with a space, or an empty string if none is similar. */
export function didYouMean(given: string, names: readonly string[], prefix = ""): string {
  const near = nearest(given, names);
  return near === undefined ? "" : `Did you mean ${prefix}${near}? `;
}
