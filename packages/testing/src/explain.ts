export { explain } from "./explain/explain.js";
export type { ExplainRequest, Explanation } from "./explain/explain.js";
export type { Mistake, MistakeId } from "./explain/mistakes.js";
