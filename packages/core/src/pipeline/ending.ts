import { retryLaterMs } from "../lib/times.js";
import type { Hint } from "../log/log.js";
import { statuses, type OutcomeCode } from "../outcome.js";

/** The end of a delivery, returned by the stage that ends it. */
export interface Ending {
  readonly code: OutcomeCode;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /**
   * The description of the problem for the log, or a function that returns it and is called only when the line is
   * logged. Undefined if there is nothing to add.
   */
  readonly hint: Hint;
}

/** The result of a step while the delivery waits for a promise. */
export const waiting: unique symbol = /* @__PURE__ */ Symbol("waiting");

/** The result of a step: the ending of the delivery, undefined to go to the next stage, or `waiting`. */
export type StepResult = Ending | undefined | typeof waiting;

/**
 * @param retryAfterMs the time until the next attempt, in milliseconds. If it is not a number, `Retry-After` is 5 s for
 *   a 503, and absent for any other status
 */
export function endWith(code: OutcomeCode, hint?: Hint, retryAfterMs?: unknown): Ending {
  const status = statuses[code];
  // The code may be invalid, because a scheme of another package may return any value.
  if (!status) throw new TypeError(`${code} is not an outcome`);
  return {
    code,
    status,
    retryAfterMs:
      typeof retryAfterMs === "number" ? retryAfterMs : status === 503 ? retryLaterMs : undefined,
    hint,
  };
}
