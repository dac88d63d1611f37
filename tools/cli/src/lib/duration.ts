import { UsageError } from "../errors.js";

const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The longest delay of a Node timer, in milliseconds. */
const longestMs = 2_147_483_647;

/**
 * Parses a duration such as `90s`, `10m`, `2h` or `7d`, and returns it in milliseconds.
 *
 * @param maxMs the longest duration, in milliseconds. Default: the longest delay of a timer, about 24.8 days
 * @throws UsageError unless the text is a whole number from 1 to 99,999 with a unit, and is not longer than `maxMs`
 */
export function durationOf(flag: string, text: string, maxMs = longestMs): number {
  const [, number = "", unit = ""] = /^([1-9]\d{0,4})([smhd])$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? 0);
  if (ms > 0 && ms <= maxMs) return ms;
  throw new UsageError(
    `${flag} is ${text}, which is not a duration from 1s to ${Math.floor(maxMs / 86_400_000)}d.`,
    `Write it as ${flag} 10m.`,
  );
}
