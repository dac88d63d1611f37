/** The latest time: the year of an ISO 8601 date has four digits. */
export const lastTime = Date.UTC(9999, 11, 31);

/** A time in ISO 8601, UTC. Data files may have later times than {@link lastTime}. */
export const iso = (ms: number): string => new Date(Math.min(ms, lastTime)).toISOString();
