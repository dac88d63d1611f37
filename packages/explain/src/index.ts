export { explain } from "./explain.js";
export type { BodyDifference, ExplainRequest, Explanation, FirstDifference } from "./explain.js";
export type { Mistake, MistakeId } from "./mistakes.js";
