export { receiverConformance } from "./receiver/conformance.js";
export { receiverForgeries } from "./receiver/cases.js";
export { withSignature } from "./receiver/forgery.js";
export type { ConformanceResult, ReceiverConformanceOptions } from "./receiver/conformance.js";
export type { CaseLevel, CaseSource } from "./receiver/cases/case.js";
export type { Change, Forgery, ForgeryFinding } from "./receiver/forgery.js";
export type { Sending } from "./http-sender.js";
