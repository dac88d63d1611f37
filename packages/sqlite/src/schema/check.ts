import { existsSync } from "node:fs";
import { explaining, pragma, rollBack, valuesOf } from "../connection/connection.js";
import type { SqliteDatabase } from "../database.js";
import { explained, isBusy } from "../errors.js";
import { newerText, version, versionIn } from "./schema.js";

/** Returns one text for each condition that endangers records or transactions. */
export const checkDatabase = (db: SqliteDatabase, busyTimeoutMs: number): readonly string[] =>
  explaining(() => {
    const databaseVersion = versionIn(db);
    const problems: string[] = [];
    if (databaseVersion > version) problems.push(newerText(databaseVersion));
    const timeout = Number(pragma(db, "busy_timeout"));
    const refusal = databaseVersion < version ? undefined : refusalOf(db, timeout);
    if (refusal !== undefined) problems.push(refusal);
    if (databaseVersion < version) {
      problems.push(
        "The database does not have the store's tables for this version. Run `migrate(db)` before the server starts listening.",
      );
    }
    const list = db.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'");
    const file = valuesOf(list.get())[0] as string | null;
    const mode = String(pragma(db, "journal_mode"));
    if (!file) {
      problems.push(
        "The database is in memory or temporary, so its records are lost when the process ends, and no other process can read them. Open a file.",
      );
    } else if (!existsSync(file)) {
      problems.push(
        `${file} was deleted or moved while this process uses it. Everything written since then is lost when the connection closes. Restart all processes that use the file, and stop them before you remove it.`,
      );
    } else if (mode !== "wal") {
      problems.push(
        `journal_mode is ${mode}, so readers block writers, each commit is slower, and a power loss can corrupt the file if synchronous is below FULL. Run \`migrate(db)\`, which sets it to WAL. If it stays ${mode}, the file is on a file system without shared memory, such as a network drive: move it to a local disk.`,
      );
    }
    if (Number(pragma(db, "synchronous")) < 2) {
      problems.push(
        "synchronous is below FULL, so a power loss can undo acknowledged events and their effects. Remove the option `synchronous`, and do not set the pragma on this connection.",
      );
    }
    if (timeout < busyTimeoutMs) {
      problems.push(
        `busy_timeout is ${timeout} ms, below the store's \`busyTimeoutMs\` of ${busyTimeoutMs} ms, so your statements fail earlier if another process writes. Do not set the pragma on this connection.`,
      );
    }
    return problems;
  });

/**
 * Returns the reason why the database refuses writes, or undefined if there is none. A lock of another connection is
 * not a reason. Inside a transaction of the application, nothing is checked.
 */
function refusalOf(db: SqliteDatabase, busyTimeoutMs: number): string | undefined {
  try {
    // Uses BEGIN, because inside a transaction of the application, BEGIN IMMEDIATE would take the write lock before it
    // fails.
    db.exec("BEGIN");
  } catch {
    return undefined;
  }
  try {
    // The timeout is 0, because the check must not block the process while another connection writes.
    db.exec("PRAGMA busy_timeout=0; DELETE FROM svc_webhooks_deliveries WHERE 0");
    return undefined;
  } catch (error) {
    return isBusy(error) ? undefined : (explained(error) as Error).message;
  } finally {
    rollBack(db);
    db.exec(`PRAGMA busy_timeout=${busyTimeoutMs}`);
  }
}
