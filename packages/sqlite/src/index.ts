export { sqliteStore } from "./sqlite-store.js";
export type { SqliteStore, SqliteStoreOptions, Synchronous } from "./sqlite-store.js";
export { sqliteInbox } from "./inbox/sqlite-inbox.js";
export type {
  InboxWorker,
  SqliteInbox,
  SqliteInboxOptions,
  WorkOptions,
} from "./inbox/sqlite-inbox.js";
export type { RetryOptions } from "@svc-webhooks/core/inbox";
export type { RunIdentity } from "./run-identity.js";
export { migrate } from "./migrate.js";
export { TransactionLostError } from "@svc-webhooks/core/adapter";
export type {
  SqliteDatabase,
  SqliteInboxDatabase,
  SqliteStatement,
  SqliteValue,
} from "./database.js";
