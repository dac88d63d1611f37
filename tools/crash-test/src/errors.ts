import type { CrashTestReport } from "./report/report.js";

export type CrashTestErrorCode =
  /** There are findings that are not accepted; the message is the report. */
  | "findings"
  /** The code under test used something without fault injection, such as a file; the message contains the report. */
  | "unseen_access"
  /** Two runs of the same history differ: the code depends on something that the test does not control. */
  | "nondeterministic"
  /** Without a fault, an event was not acknowledged, or only as a duplicate after its handler had failed. */
  | "not_acknowledged"
  /** A history does not end: the code keeps setting timers, or never waits. */
  | "endless"
  /** Without a fault, the events have no effect that the test can see, or one of them has no handler. */
  | "no_effect"
  /** An accepted finding does not occur. */
  | "accepted_not_found"
  /** An option is invalid or cannot be used, or a function that was passed as an option threw the error in `cause`. */
  | "invalid_option"
  /** An optional package that the test needs is not installed. */
  | "package_missing";

/** The parts of the message of an error `not_acknowledged`, `no_effect` or `nondeterministic`. */
export interface CrashTestFacts {
  readonly problem: string;
  /** The lines of a history, or the lines in which two runs differ. */
  readonly lines: readonly string[];
  /** Probable causes, and fixes for code that calls `crashTest`. */
  readonly hints: readonly string[];
  /** Access to the outside world by the code under test, into which no fault can be injected. */
  readonly unseen: readonly string[];
}

/** The error of a crash test. Its `code` states the kind. */
export class CrashTestError extends Error {
  readonly code: CrashTestErrorCode;
  /** The report, for `findings`, `unseen_access` or a failed write. Not enumerable, or test runners would print it. */
  declare readonly report: CrashTestReport | undefined;
  /** Present for `not_acknowledged`, `no_effect` and `nondeterministic`. Not enumerable: the message contains it. */
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
