/** Random choices that a seed repeats. */
export interface Random {
  readonly between: (min: number, max: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

/**
 * Returns the random choices of a stream. Each consumer has its own stream (`seeded("7/monkey")`), so that its
 * choices do not depend on how fast others draw.
 */
export function seeded(stream: string): Random {
  // FNV-1a hashes the name to the initial state of mulberry32.
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(stream)) state = Math.imul(state ^ byte, 0x01000193);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    between: (min, max) => Math.floor(min + next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick(list) {
      const index = Math.floor(next() * list.length);
      // The index is valid unless the list is empty.
      return list[index] as (typeof list)[number];
    },
  };
}
