import type { FaultKind } from "../faults.js";
import type { ReportPage } from "../report/report.js";
import type { Words } from "../report/words.js";

export interface SearchOptions {
  /** The types of the events, in their order. */
  readonly events: readonly string[];
  readonly faults: readonly FaultKind[];
  readonly maxFaults: number;
  readonly maxHistories: number;
  readonly seed: number;
  readonly only?: string | undefined;
  readonly accept: readonly string[];
  /** Whether two runs of a history have equal times. If not, undisturbed runs are compared by crossing names only. */
  readonly isExact: boolean;
  /** The access that this form of the test cannot see, and the conditions that it does not try, one phrase each. */
  readonly blind: readonly string[];
  /** The words of the text and of errors. Default: those of `crashTest`. */
  readonly words?: Words | undefined;
  /** Called after each history with faults. Both numbers count only histories with equally many faults. */
  readonly onHistory?: ((done: number, all: number) => void) | undefined;
  /** Called with the findings so far, if any, before the search rejects with an error that is not a CrashTestError. */
  readonly onEndedEarly?: ((page: ReportPage) => void) | undefined;
}

/** Returns whether a finding with this name may be accepted. `stuck` may not: its event is never acknowledged. */
export const isAcceptable = (name: string): boolean =>
  /^(?:duplicate|lost|partial|different|order_dependent) \S/.test(name);
