export { explain } from "./explain.js";
export { fingerprint } from "./fingerprint.js";
export type { BodyDifference, ExplainRequest, Explanation, FirstDifference } from "./explain.js";
export type { Mistake, MistakeId } from "./mistakes.js";
