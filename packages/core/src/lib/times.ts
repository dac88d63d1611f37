/** The default `Retry-After` of a 503 response, in milliseconds. */
export const retryLaterMs = 5_000;
/** The deadline of a secret function, in milliseconds. */
export const secretDeadlineMs = 1_500;
/**
 * The first and the longest pause between attempts to complete or release a claim, in milliseconds. The pauses double,
 * and a random part of up to half is subtracted from each.
 */
export const firstPauseMs = 500;
export const longestPauseMs = 8_000;
/** The minimum pause between two log lines about the same cause, in milliseconds. */
export const linePauseMs = 60_000;
/** The longest delay of a timer, in milliseconds: 2^31 − 1. Timers with a longer delay fire immediately. */
export const longestDelayMs = 2_147_483_647;

/** The earliest accepted time, in epoch milliseconds (March 1973): a smaller number is probably in seconds. */
export const earliestExpiryMs = 1e11;
