import { assertValid } from "@svc-webhooks/core/adapter";
import { explaining, valuesOf } from "./connection.js";
import type { SqliteDatabase } from "../database.js";

const expected =
  "`db` must be an open, synchronous SQLite connection: `new DatabaseSync(file)` from node:sqlite or @photostructure/sqlite, or `new Database(file)` from better-sqlite3 or bun:sqlite.";

const has = (value: unknown, ...members: readonly string[]): boolean =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  members.every((member) => member in value);

/**
 * Asserts that `db` is a synchronous connection.
 *
 * @throws ConfigError `invalid_option`; WebhookError `database_closed`
 */
export function assertDatabase(db: SqliteDatabase): void {
  assertValid(
    !has(db, "$client", "select"),
    "db",
    "`db` is a Drizzle database. Pass its connection: `db.$client`.",
  );
  assertValid(
    !has(db, "executeQuery", "selectFrom"),
    "db",
    "`db` is a Kysely instance. Pass the connection that its dialect uses.",
  );
  assertValid(has(db, "exec", "prepare"), "db", expected);
  // Checks a result, because asynchronous clients have the same methods, but return promises. This pragma does not
  // touch the file, which another process may have locked.
  const row = explaining(() => {
    const statement = db.prepare("PRAGMA busy_timeout");
    return has(statement, "run", "get") ? statement.get() : undefined;
  });
  assertValid(Number(valuesOf(row)[0]) >= 0, "db", expected);
}
