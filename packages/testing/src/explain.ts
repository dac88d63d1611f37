export { explain } from "./explain/explain.js";
export type {
  BodyDifference,
  ExplainRequest,
  Explanation,
  FirstDifference,
} from "./explain/explain.js";
export type { Mistake, MistakeId } from "./explain/mistakes.js";
