import type { SqliteDatabase } from "../database.js";

/** State that the stores and inboxes of a connection share. */
interface Shared {
  /** The keys of the events that a worker of this process runs, so that a power loss may undo what is committed. */
  readonly running: Set<string>;
  /** Called whenever an inbox of this connection has changed a job. */
  readonly listeners: Set<() => void>;
}

const sharedOf = new WeakMap<SqliteDatabase, Shared>();

/** Returns the state that the stores and inboxes of a connection share. */
export function sharedBy(db: SqliteDatabase): Shared {
  let shared = sharedOf.get(db);
  if (!shared) sharedOf.set(db, (shared = { running: new Set(), listeners: new Set() }));
  return shared;
}
