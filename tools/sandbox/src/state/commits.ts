import { ApiError } from "../errors.js";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "../lib/timers.js";
import type { Change, Journal } from "./journal.js";
import type { DeliveryRecord } from "./records.js";

/** A change that has not been written yet. */
export interface Unwritten extends Change {
  /** Whether the file does not contain the record yet. */
  readonly isNew: boolean;
}

export interface CommitsOptions {
  readonly journal: Journal;
  /** Receives the changes that each commit has written. */
  readonly afterCommit: (written: readonly Change[]) => void;
  /** Receives the error of a failed write. Further errors are not reported until a write succeeds. */
  readonly onError: (error: unknown) => void;
}

/** The delay before `commitSoon` retries a failed commit, in real milliseconds. */
const betweenTriesMs = 1_000;

/**
 * Writes to the journal, and tracks the result of the last write:
 *
 * - **saved**: it succeeded, or nothing has been written yet.
 * - **behind**: it failed, and its changes are still unwritten. Meanwhile, the state drops new calls, and `commitSoon`
 *   waits for a second. The next write → saved or behind. A commit that finds no changes, `begin`, or a rollback that
 *   leaves no changes → failed.
 * - **failed**: it failed, but its changes were rolled back, or a transaction that will write them has begun. The next
 *   write → saved or behind.
 *
 * A failed write is reported only in the state saved. Otherwise, every request would report one while the disk is full.
 */
function createWriter(onError: CommitsOptions["onError"]) {
  let lastWrite: "saved" | "behind" | "failed" = "saved";
  return {
    write(step: () => void): void {
      try {
        step();
      } catch (error) {
        if (lastWrite === "saved") onError(error);
        lastWrite = "behind";
        throw new ApiError(500, "internal_error", "The data file could not be written.");
      }
      lastWrite = "saved";
    },
    isBehind: (): boolean => lastWrite === "behind",
    /**
     * Ends the state `behind`. Called when no change is left, or when a transaction begins that will write the changes.
     */
    catchUp(): void {
      if (lastWrite === "behind") lastWrite = "failed";
    },
  };
}

/** Collects changes and commits them to the journal. */
export function createCommits({ journal, afterCommit, onError }: CommitsOptions) {
  const changes = new Map<string, Unwritten>();
  const writer = createWriter(onError);
  let cancelSoon: (() => void) | undefined;
  let isClosed = false;

  /**
   * Writes all changes.
   * @throws ApiError 500 if they cannot be written; the next commit tries again
   */
  const commit = () => {
    cancelSoon?.();
    cancelSoon = undefined;
    // Nothing is written after `close`, although a request may still finish.
    if (changes.size === 0 || isClosed) return writer.catchUp();
    const written = Array.from(changes.values());
    writer.write(() => journal.write(stored(written)));
    changes.clear();
    afterCommit(written);
  };

  return {
    /**
     * Records a change. An undefined value removes the record. `isAdded` means that the file lacks the record.
     */
    change: (kind: string, id: string, value: unknown, isAdded = false): void => {
      const key = keyOf({ kind, id });
      const isNew = changes.get(key)?.isNew ?? isAdded;
      if (value === undefined && isNew) changes.delete(key);
      else changes.set(key, { kind, id, value, isNew });
    },
    /** Drops a record's unwritten change. Called when the record equals its last written version. */
    forget: (kind: string, id: string) => void changes.delete(keyOf({ kind, id })),
    /** Whether the last write failed and its changes are still unwritten. */
    isBehind: writer.isBehind,
    commit,
    /**
     * Commits on the next turn of the event loop, together with any changes made by then. While the last write's
     * changes are still unwritten, waits one second instead.
     */
    commitSoon: (): void => {
      cancelSoon ??= soon(writer.isBehind() ? betweenTriesMs : 0, () => {
        try {
          commit();
        } catch {
          // The failure has been reported, and the next commit tries again.
        }
      });
    },
    /**
     * Begins a transaction. Returns the keys of the earlier changes that are still unwritten, because a rollback must
     * keep them. If an earlier change concerns a record in the file, all of them are written first, because a rollback
     * restores such a record from the file. If they only add records, they are written with the transaction, so that a
     * request whose call is new costs one commit, not two.
     * @throws ApiError 500 if the changes cannot be written
     */
    begin(): Waiting {
      if (Array.from(changes.values()).some(({ isNew }) => !isNew)) commit();
      writer.catchUp();
      return new Set(changes.keys());
    },
    /**
     * Returns the changes to roll back after a failed commit: those since `begin`, except removals and changes to
     * records whose keys `begin` returned.
     */
    toRollBack: (waiting: Waiting): readonly Unwritten[] =>
      Array.from(changes.values()).filter(
        (change) => !waiting.has(keyOf(change)) && change.value !== undefined,
      ),
    /** Ends a transaction whose changes have been rolled back. */
    endRollBack(): void {
      if (changes.size === 0) writer.catchUp();
    },
    /**
     * Writes all changes, then replaces all records except checkpoints.
     * @throws ApiError 500 if they cannot be written, in which case the records stay as they were
     */
    replace(records: Iterable<Change>): void {
      commit();
      writer.write(() => journal.replace(stored(records)));
    },
    /**
     * Writes all changes, and closes the journal. Later commits write nothing.
     * @throws ApiError 500 if the changes cannot be written; the journal is closed nevertheless
     */
    close: (): void => {
      if (isClosed) return;
      try {
        commit();
      } finally {
        isClosed = true;
        journal.close();
      }
    },
  };
}

/** The keys of the changes that were unwritten when a transaction began. */
type Waiting = ReadonlySet<string>;

const keyOf = ({ kind, id }: Pick<Change, "kind" | "id">): string => `${kind} ${id}`;

export type Commits = Readonly<ReturnType<typeof createCommits>>;

/**
 * Runs `work` on the next turn of the event loop if `ms` is 0. Otherwise, runs it after `ms` real milliseconds, with a
 * timer that does not keep the process alive. Returns a function that cancels the run.
 */
function soon(ms: number, work: () => void): () => void {
  if (ms === 0) {
    const turn = setImmediate(work);
    return () => clearImmediate(turn);
  }
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}

/**
 * Yields the changes as the journal stores them. Omits a delivery's body, which never changes, and its attempts, which
 * are added one by one: both have separate records.
 */
function* stored(changes: Iterable<Change>): Iterable<Change> {
  for (const change of changes) {
    if (change.kind !== "delivery" || change.value === undefined) yield change;
    else {
      const { body: _body, attempts: _attempts, ...value } = change.value as DeliveryRecord;
      yield { ...change, value };
    }
  }
}
