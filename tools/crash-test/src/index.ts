export { CrashTestError } from "./errors.js";
export type { CrashTestErrorCode, CrashTestFacts } from "./errors.js";
export { faultKinds, isFaultKind, readFaults, statusResponse, writeFaults } from "./faults.js";
export type { Fault, FaultKind } from "./faults.js";
export type {
  Attempt,
  Call,
  Crossing,
  Finding,
  FindingKind,
  History,
  HistoryLine,
  Row,
  Runner,
  Step,
  Variant,
  WorldState,
} from "./history.js";
export { isIdempotent, isReading, keyIn } from "./judge/facts.js";
export { Recorder } from "./recorder.js";
export type { Mutable, Recorded } from "./recorder.js";
export { annotationsOf } from "./report/annotations.js";
export { randomOf } from "./search/levels.js";
export { pageOf } from "./report/page.js";
export type { CrashTestReport, ReportPage, Tried } from "./report/report.js";
export type { Words } from "./report/words.js";
export { search } from "./search/search.js";
export { isAcceptable } from "./search/options.js";
export type { SearchOptions } from "./search/options.js";
