/** For packages that build an inbox on a queue engine. Functions that are also used on Workers are in `core/inbox`. */
export { within } from "./inbox/engine-call.js";
export { assertPartition, assertQuery, entryOf, releaseLetters } from "./inbox/operate.js";
export { concurrencyOf, deadlineOf, engineOptions } from "./inbox/engine-options.js";
export type { EngineOptions, ResolvedEngineOptions } from "./inbox/engine-options.js";
export { startLoop } from "./inbox/work-loop.js";
export type { JobSource, WorkLoop } from "./inbox/work-loop.js";
