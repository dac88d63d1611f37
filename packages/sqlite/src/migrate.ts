import file from "../schema.sql?raw";
import { assertDatabase } from "./connection/assert-database.js";
import { explaining, pragma, transact } from "./connection/connection.js";
import type { SqliteDatabase } from "./database.js";
import { isBusy } from "./errors.js";
import { assertKnown, version, versionIn } from "./schema/schema.js";

/**
 * Creates or updates the store's tables, `svc_webhooks_deliveries` and `svc_webhooks_versions`, next to your own, and
 * switches the file to a write-ahead log (`journal_mode = WAL`). Call it whenever a process starts: if there is nothing
 * to do, it only reads. If several processes call it at the same time, one applies the changes and the others wait for
 * it, for as long as the connection's `busy_timeout`; `sqliteStore(db)` sets that.
 *
 * @returns whether it changed the tables
 * @throws ConfigError `invalid_option`: `db` is not a synchronous SQLite connection
 * @throws WebhookError `schema_newer`: a newer version of the package has migrated the database; `transaction_open`:
 *   the connection is in a transaction; `locked`, `statement_open`, `read_only`, `cannot_open`, `database_closed`. In
 *   each case, the tables were not changed
 *
 * @example
 * ```ts
 * import { DatabaseSync } from "@photostructure/sqlite";
 * import { migrate, sqliteStore } from "svc-webhooks/sqlite";
 *
 * const db = new DatabaseSync(process.env.DATABASE_FILE ?? "app.db");
 * // Sets how long the connection waits for another process that migrates.
 * export const store = sqliteStore(db);
 * migrate(db);
 * ```
 */
export function migrate(db: SqliteDatabase): boolean {
  assertDatabase(db);
  return explaining(() => {
    const databaseVersion = versionIn(db);
    assertKnown(databaseVersion);
    if (pragma(db, "journal_mode") !== "wal") {
      // Begins an empty transaction, because that throws inside a transaction of the application, in which SQLite would
      // keep the old mode without an error.
      transact(db, () => {});
      switchToLog(db);
    }
    if (databaseVersion === version) return false;
    return transact(db, () => {
      // Reads the version again, because another process may have migrated the database meanwhile.
      if (versionIn(db) >= version) return false;
      db.exec(file);
      return true;
    });
  });
}

/** Switches to a write-ahead log. Retries for `busy_timeout`, because SQLite does not apply the timeout here. */
function switchToLog(db: SqliteDatabase): void {
  const deadline = performance.now() + Number(pragma(db, "busy_timeout"));
  for (;;) {
    try {
      db.exec("PRAGMA journal_mode=WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
}
