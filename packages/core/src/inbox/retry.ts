import { assertOptions, assertValid } from "../checks.js";
import { isWhole } from "../lib/is-whole.js";

/**
 * The number of attempts to run an event, and the delays between them: they double from `firstMs` to `mostMs`, with
 * jitter.
 */
export interface RetryOptions {
  /** The number of attempts before an event becomes a dead letter, 1 … 1,000. Default 20. */
  readonly limit?: number | undefined;
  /**
   * The longest delay after the first attempt, in milliseconds, 1 … 86,400,000. Default 1,000, or the minimum of the
   * queue's engine if more.
   */
  readonly firstMs?: number | undefined;
  /** The longest delay, in milliseconds, `firstMs` … 86,400,000. Default: 600,000 (10 min), or `firstMs` if more. */
  readonly mostMs?: number | undefined;
}

/**
 * The limits that a queue's engine, such as pg-boss, sets for {@link RetryOptions}, if they are narrower than those
 * stated there.
 */
export interface RetryLimits {
  /** The maximum of `limit`. Default 1,000. */
  readonly attempts?: number | undefined;
  /** The minimum of `firstMs`, in milliseconds. Default 1. */
  readonly leastMs?: number | undefined;
  /** The maximum of `firstMs` and `mostMs`, in milliseconds. Default 86,400,000. */
  readonly mostMs?: number | undefined;
}

/** The maximum number of attempts at a job, and the delays between them. */
export interface RetryDelays {
  readonly limit: number;
  readonly firstMs: number;
  readonly mostMs: number;
  /**
   * Returns the delay after an attempt (1, 2, …), in milliseconds: a random 50 to 100 % of the smaller of `mostMs` and
   * `firstMs` × 2^(attempt − 1).
   */
  readonly delayMs: (attempt: number) => number;
}

/** The longest delay before an attempt, in milliseconds: one day. */
export const longestRetryMs = 86_400_000;

/**
 * For queues: validates the option `retry`, and returns its values and the delays that follow from them.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { retryDelays } from "svc-webhooks/inbox";
 *
 * const { limit, delayMs } = retryDelays({ limit: 5 });
 * assert.equal(limit, 5);
 * assert.ok(delayMs(1) >= 500 && delayMs(1) <= 1_000);
 * ```
 */
export function retryDelays(retry: RetryOptions = {}, limits: RetryLimits = {}): RetryDelays {
  assertOptions(retry, ["limit", "firstMs", "mostMs"], "retry");
  const { attempts = 1_000, leastMs = 1, mostMs: longestMs = longestRetryMs } = limits;
  const { limit = 20, firstMs = Math.max(1_000, leastMs) } = retry;
  const { mostMs = Math.max(600_000, firstMs) } = retry;
  assertWhole(limit, "retry.limit", 1, attempts);
  assertWhole(firstMs, "retry.firstMs", leastMs, longestMs);
  assertWhole(mostMs, "retry.mostMs", firstMs, longestMs);
  return {
    limit,
    firstMs,
    mostMs,
    delayMs(attempt) {
      const ms = Math.min(mostMs, firstMs * 2 ** (attempt - 1));
      return Math.ceil(ms * (0.5 + Math.random() / 2));
    },
  };
}

/**
 * For queues: asserts that an option is a whole number in a range.
 *
 * @throws ConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertWhole } from "svc-webhooks/inbox";
 *
 * assertWhole(16, "concurrency", 1, 1_000);
 * assert.throws(() => assertWhole(0, "concurrency", 1, 1_000), { code: "invalid_option" });
 * ```
 */
export function assertWhole(value: unknown, option: string, least: number, most: number): void {
  assertValid(
    isWhole(value as number, least, most),
    option,
    `\`${option}\` must be a whole number from ${least} to ${most}.`,
  );
}
