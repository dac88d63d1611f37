import { retryLaterMs } from "../lib/times.js";
import { statuses, type OutcomeCode } from "../outcome.js";

/** The end of a delivery, returned by the stage that ends it. */
export interface Ending {
  readonly code: OutcomeCode;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** The problem and its fix, printed for the operator. */
  readonly hint: string | undefined;
}

export function endWith(code: OutcomeCode, hint?: string, retryAfterMs?: number): Ending {
  const status = statuses[code];
  return {
    code,
    status,
    retryAfterMs: retryAfterMs ?? (status === 503 ? retryLaterMs : undefined),
    hint,
  };
}
