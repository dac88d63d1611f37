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

/** The error of a crash test. Its `code` shows the kind. */
export class CrashTestError extends Error {
  readonly code: CrashTestErrorCode;
  /** Present if `code` is `findings` or `unseen_access`, or if the report could not be written. Not enumerable: test runners would print it after the message. */
  declare readonly report: CrashTestReport | undefined;

  constructor(
    code: CrashTestErrorCode,
    message: string,
    report?: CrashTestReport,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CrashTestError";
    this.code = code;
    Object.defineProperty(this, "report", { value: report });
  }
}
