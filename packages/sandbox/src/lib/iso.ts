/** The latest time that is supported: the year of an ISO 8601 date has four digits. */
export const lastTime = Date.UTC(9999, 11, 31);

/**
 * Formats a time as ISO 8601 in UTC. A time after {@link lastTime}, which a data file may contain, is shown as
 * that time.
 */
export const iso = (ms: number): string => new Date(Math.min(ms, lastTime)).toISOString();
