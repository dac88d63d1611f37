const durations = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000 };
const sizes = { B: 1, kB: 1_000, KiB: 1_024, MB: 1_000_000, MiB: 1_048_576 };

/**
 * The longest delay that `setTimeout` supports, in milliseconds: 24.8 days. A timer with a longer delay fires
 * immediately.
 */
export const longestTimer: number = 2 ** 31 - 1;

const parse = (units: Readonly<Record<string, number>>, max: number) => (text: string) => {
  const [, number, unit = ""] = /^(\d{1,12}(?:\.\d{1,3})?)([A-Za-z]+)$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (number === undefined || factor === undefined) return undefined;
  const value = Math.round(Number(number) * factor);
  return value <= max ? value : undefined;
};

/**
 * Parses a duration such as `250ms`, `5s`, `30m` or `2h`, at most {@link longestTimer}, and returns milliseconds.
 * Returns undefined for anything else.
 */
export const parseDuration: (text: string) => number | undefined = parse(durations, longestTimer);

/** Ten years, in milliseconds. */
export const tenYears = 10 * 365 * 86_400_000;

/** Like {@link parseDuration}, but also accepts days (`7d`), and durations of up to {@link tenYears}. */
export const parseSpan: (text: string) => number | undefined = parse(
  { ...durations, d: 86_400_000 },
  tenYears,
);

/**
 * Parses a size such as `512B`, `10kB`, `64KiB` or `1MiB`, at most 1 GB, and returns bytes. Returns undefined for
 * anything else.
 */
export const parseSize: (text: string) => number | undefined = parse(sizes, 1e9);
