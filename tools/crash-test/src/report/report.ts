import type { FaultKind } from "../faults.js";
import type { Finding, HistoryLine } from "../history.js";

/** The number of histories with `faults` faults (`of`), and how many of them were run (`run`). */
export interface Tried {
  readonly faults: number;
  readonly run: number;
  readonly of: number;
}

/** The result of a crash test. It contains only JSON. */
export interface CrashTestReport {
  readonly version: 1;
  /** The types of the events, in their order. */
  readonly events: readonly string[];
  readonly findings: readonly Finding[];
  /** The findings that the option `accept` names. */
  readonly accepted: readonly Finding[];
  readonly tried: readonly Tried[];
  /** The number of points of the undisturbed history. */
  readonly points: number;
  /** Faults that were not tried, because their points were not reached as in the undisturbed history. */
  readonly notReached: readonly string[];
  /** Findings that did not occur again, probably because they depend on timing. */
  readonly unsteady: readonly string[];
  /** Access that is not a crossing, so that no fault was injected into it. A test with such access does not pass. */
  readonly unseen: readonly string[];
  /** Services that options name, but that the undisturbed history did not use, so that no fault was injected there. */
  readonly unused: readonly string[];
  /**
   * The values of the events' effects that are not compared, such as `orders.id`: columns whose default is a sequence,
   * a time or a random value, and values that differ between two undisturbed histories.
   */
  readonly notCompared: readonly string[];
  /** Access that this form of the test cannot see, and conditions that it does not try. */
  readonly blind: readonly string[];
  /** Calls whose idempotency keys are assumed to be honored, each with a remark if several calls share a key. */
  readonly keyed: readonly string[];
  readonly seed: number;
  /** The option `only`, if it was set. */
  readonly only?: string | undefined;
  readonly text: string;
}

/** A cell of the grid on the page: one fault at one point. */
export interface Cell {
  readonly kind: FaultKind;
  readonly point: number;
  /** The findings of this history, such as `duplicate charge`; empty if it has none. */
  readonly findings: readonly string[];
  readonly isReached: boolean;
  readonly lines: readonly HistoryLine[];
}

/** The data of the HTML page. */
export interface ReportPage {
  readonly report: CrashTestReport;
  readonly undisturbed: readonly HistoryLine[];
  /** The names of the crossings of the undisturbed history, in order. Each has two points. */
  readonly points: readonly string[];
  readonly cells: readonly Cell[];
}
