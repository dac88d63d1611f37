/** When senders should try again after a 503 that names no other time, in milliseconds. */
export const retryLaterMs = 5_000;
/** How long a secret function may take. */
export const secretDeadlineMs = 1_500;
/** The pauses between attempts to complete or release a claim: doubled from the first to the longest. */
export const firstPauseMs = 500;
export const longestPauseMs = 8_000;
/** How often a line about the same cause may be printed. */
export const linePauseMs = 60_000;
/** Timers with a longer delay fire immediately. */
export const longestDelayMs = 2_147_483_647;
