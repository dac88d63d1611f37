export { sqliteStore } from "./sqlite-store.js";
export type { SqliteStore, SqliteStoreOptions, Synchronous } from "./sqlite-store.js";
export type { RunIdentity } from "./run-identity.js";
export { migrate } from "./migrate.js";
export { TransactionLostError } from "@svc-webhooks/core/adapter";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.js";
