export { receiverConformance } from "./receiver/conformance.js";
export type { ConformanceResult, ReceiverConformanceOptions } from "./receiver/conformance.js";
export type { CaseLevel, CaseSource } from "./receiver/cases/case.js";
