/** The `Retry-After` of a 503 that has no other, in milliseconds. */
export const retryLaterMs = 5_000;
/** The deadline of a secret function. */
export const secretDeadlineMs = 1_500;
/**
 * The pauses between attempts to complete or release a claim, doubled each time from the first to
 * the longest.
 */
export const firstPauseMs = 500;
export const longestPauseMs = 8_000;
/** The minimum pause between two lines about the same cause. */
export const linePauseMs = 60_000;
/** 2^31 − 1: timers with a longer delay fire immediately. */
export const longestDelayMs = 2_147_483_647;

/** March 1973: a smaller `expiresAt` must be in seconds. */
export const earliestExpiryMs = 1e11;
