/** For packages that build an inbox on a queue engine. Functions that are also used on Workers are in `core/inbox`. */
export { within } from "./inbox/engine-call.js";
export { assertPartition, assertQuery, entryOf, releaseLetters } from "./inbox/operate.js";
