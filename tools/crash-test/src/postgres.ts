export { isOfUser, naturalColumns, tableOf } from "./postgres/catalog.js";
export {
  errorOf,
  messageWith,
  messageSplitter,
  Reply,
  secondText,
  sqlOf,
  textAt,
} from "./postgres/messages.js";
export type { Message } from "./postgres/messages.js";
export { factsOfStatement } from "./postgres/statement.js";
export type { StatementFacts } from "./postgres/statement.js";
export { claimNote, isStoreTable } from "./postgres/store.js";
