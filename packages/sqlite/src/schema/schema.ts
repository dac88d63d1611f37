import { WebhookError } from "@svc-webhooks/core";
import { valuesOf } from "../connection/connection.js";
import type { SqliteDatabase } from "../database.js";

/** The version that `schema.sql` creates. */
export const version = 2;

/** Returns the version of the store's schema in the database, or 0 if there is none. */
export function versionIn(db: SqliteDatabase): number {
  const table = db
    .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'svc_webhooks_versions'")
    .get();
  if (!table) return 0;
  const newest = db.prepare("SELECT coalesce(max(version), 0) FROM svc_webhooks_versions").get();
  return Number(valuesOf(newest)[0]);
}

/**
 * Asserts that a schema is not newer than this package.
 *
 * @throws WebhookError `schema_newer`
 */
export function assertKnown(databaseVersion: number): void {
  if (databaseVersion > version) throw new WebhookError("schema_newer", newerText(databaseVersion));
}

export const newerText = (databaseVersion: number): string =>
  `The database has version ${databaseVersion} of the store's tables, but this version of svc-webhooks/sqlite supports only version ${version}. Install the version of the package that migrated the database, or a newer one.`;
