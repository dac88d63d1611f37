/** For packages that make an inbox of a queue engine. `core/inbox` has what Workers load too. */
export { roomGuard, shared, within } from "./inbox/engine-call.js";
export {
  assertPartition,
  assertQuery,
  assertQueueName,
  assertRelease,
  entryOf,
  releaseLetters,
} from "./inbox/operate.js";
