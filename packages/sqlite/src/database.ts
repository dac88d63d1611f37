/** A value that the store binds to a statement. */
export type SqliteValue = string | number | null | Uint8Array;

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown;
  /** Returns the first row, or undefined or null if there is none. */
  get(...values: SqliteValue[]): unknown;
}

/**
 * The members of a synchronous SQLite connection that the store uses. `DatabaseSync` of `node:sqlite` and
 * `@photostructure/sqlite`, and `Database` of `better-sqlite3` and `bun:sqlite` have them.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/**
 * A connection whose statements also return all rows, as those of all drivers that `sqliteStore` supports do.
 */
export interface SqliteInboxDatabase extends SqliteDatabase {
  prepare(sql: string): SqliteStatement & { all(...values: SqliteValue[]): unknown };
}
