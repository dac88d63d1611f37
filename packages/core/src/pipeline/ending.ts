import { retryLaterMs } from "../lib/times.js";
import { statuses, type OutcomeCode } from "../outcome.js";

/** A stage's word that the delivery ends here. */
export interface Ending {
  readonly code: OutcomeCode;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** For the operator, printed: what is wrong and what mends it. */
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
