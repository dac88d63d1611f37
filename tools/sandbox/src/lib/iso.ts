/** The latest supported time, in epoch milliseconds: the start of the last day with a four-digit year (ISO 8601). */
export const lastTime = Date.UTC(9999, 11, 31);

/**
 * Formats a time as ISO 8601 in UTC. For a later time than {@link lastTime}, which a data file may contain, formats
 * {@link lastTime} instead.
 */
export const iso = (ms: number): string => new Date(Math.min(ms, lastTime)).toISOString();

/** Returns entries with their times as {@link iso} formats them. */
export const isoTimes = <Entry extends { readonly at: number }>(entries: readonly Entry[]) =>
  entries.map((entry) => ({ ...entry, at: iso(entry.at) }));
