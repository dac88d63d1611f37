import { UsageError } from "../errors.js";

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Returns whether a date exists in the calendar. `Date.parse` also accepts 30 February, as a day in March. */
const isDay = (date: string): boolean => new Date(date).getUTCDate() === Number(date.slice(-2));

/**
 * Parses a date and time in ISO 8601 with a time zone, or epoch seconds. Returns epoch milliseconds.
 *
 * @param flag the option, for the text of the error
 * @throws UsageError for any other text
 */
export function timeOf(flag: string, text: string): number {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1_000;
  const time = iso.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : NaN;
  if (!Number.isNaN(time)) return time;
  const isMs = /^\d{12,14}$/.test(text);
  throw new UsageError(
    isMs ? `${flag} is in milliseconds.` : `${flag} is not a time.`,
    `Write epoch seconds, or a time with a time zone, such as ${flag} 2026-11-22T10:00:00Z.`,
  );
}
