import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { onTestFinished } from "vitest";

/** Returns the path of a database in a folder of its own, which is removed when the test ends. */
export function sqliteFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "app.db");
}

/** Opens a connection that is closed when the test ends. */
export function openSqlite(
  file: string = sqliteFile(),
  options: { readonly readOnly?: boolean; readonly readBigInts?: boolean } = {},
): DatabaseSyncInstance {
  const db = new DatabaseSync(file, options);
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return db;
}

/** A statement that ages records by bringing the ends of their leases and retention nearer. `?`: milliseconds. */
export const age = `UPDATE svc_webhooks_deliveries SET
  lease_ends_at = lease_ends_at - ?1, expires_at = expires_at - ?1`;
