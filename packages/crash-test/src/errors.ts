import type { CrashTestReport } from "./report/report.js";

export type CrashTestErrorCode =
  /** There are findings that are not accepted; the message is the report. */
  | "findings"
  /** The code under test used a socket, a file or a process that is not a crossing; the message is the report. */
  | "unseen_access"
  /** Two equal histories differ: the code depends on something that is not simulated. */
  | "nondeterministic"
  /** Without a fault, an event was not acknowledged. */
  | "not_acknowledged"
  /** A history has no end: timers or immediates start each other again and again without a delay. */
  | "endless"
  /** Without a fault, the events have no effect: nothing could be lost or duplicated. */
  | "no_effect"
  /** An accepted finding does not occur. */
  | "accepted_not_found"
  /** An option is wrong, or the function in it threw an error: the `cause`. */
  | "invalid_option"
  /** An optional package is not installed. */
  | "package_missing";

/** The parts of the message of an error about a history without faults. */
export interface CrashTestFacts {
  readonly problem: string;
  /** The lines of a history, or those that differ. */
  readonly lines: readonly string[];
  /** Probable causes, and fixes for code that calls `crashTest`. */
  readonly hints: readonly string[];
  /** Access of the code under test that was no crossing. */
  readonly unseen: readonly string[];
}

/** The error of a crash test. Its `code` shows the kind. */
export class CrashTestError extends Error {
  readonly code: CrashTestErrorCode;
  /** Present if `code` is `findings` or `unseen_access`, or if the report could not be written. Not enumerable: test runners would print it after the message. */
  declare readonly report: CrashTestReport | undefined;
  /** Present if `code` is `not_acknowledged`, `no_effect` or `nondeterministic`. Not enumerable: the message contains it. */
  declare readonly facts: CrashTestFacts | undefined;

  constructor(
    code: CrashTestErrorCode,
    message: string,
    { report, facts, cause }: Partial<Pick<CrashTestError, "report" | "facts" | "cause">> = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CrashTestError";
    this.code = code;
    Object.defineProperties(this, { report: { value: report }, facts: { value: facts } });
  }
}
