/** For packages that build an inbox on a queue engine. Functions that are also used on Workers are in `core/inbox`. */
export { roomGuard, shared, within } from "./inbox/engine-call.js";
export {
  assertPartition,
  assertQuery,
  assertQueueName,
  assertRelease,
  entryOf,
  releaseLetters,
} from "./inbox/operate.js";
