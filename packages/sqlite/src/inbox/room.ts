import { statfsSync } from "node:fs";
import { WebhookError } from "@svc-webhooks/core";
import { valuesOf } from "../connection/connection.js";
import type { SqliteDatabase } from "../database.js";

/** How long a reading of the free space is used, in milliseconds. */
const readEveryMs = 5_000;

/** The space on the disk of a database. */
export interface Room {
  /** Throws `disk_full` if less than the reserve is free. */
  readonly assert: () => void;
  /** Returns the free bytes. Infinity if the database is in memory, or the file system does not state them. */
  readonly freeBytes: () => number;
}

/** @param reserveBytes the space that is left to the workers, which must write in order to free space */
export function roomOf(db: SqliteDatabase, reserveBytes: number): Room {
  let readAt = -Infinity;
  let free = Infinity;
  const freeBytes = () => {
    const list = db.prepare("select file from pragma_database_list where name = 'main'");
    const file = valuesOf(list.get())[0];
    if (typeof file !== "string" || file === "") return Infinity;
    try {
      const { bavail, bsize } = statfsSync(file);
      return bavail * bsize;
    } catch {
      // `check` names a file that was deleted.
      return Infinity;
    }
  };
  return {
    freeBytes,
    assert() {
      if (performance.now() - readAt >= readEveryMs) {
        readAt = performance.now();
        free = freeBytes();
      }
      if (free >= reserveBytes) return;
      throw new WebhookError(
        "disk_full",
        `The disk of the database has ${free} free bytes, which is less than \`reserveBytes\` (${reserveBytes}). Nothing was stored, and the workers continue. Free space on the disk.`,
      );
    },
  };
}
