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
  /** Receives the error of a failed commit. Further errors are not reported until a commit succeeds. */
  readonly onError: (error: unknown) => void;
}

/** The delay before a failed commit is retried if nothing waits for it, in real milliseconds. */
const betweenTriesMs = 1_000;

/** Collects changes and commits them to the journal. */
export function createCommits({ journal, afterCommit, onError }: CommitsOptions) {
  const changes = new Map<string, Unwritten>();
  let cancelSoon: (() => void) | undefined;
  let isClosed = false;
  /** Whether a commit has failed since the last successful one. */
  let isFailing = false;
  let isBehind = false;

  /**
   * Writes all changes.
   * @throws ApiError 500 if they cannot be written; the next commit tries again
   */
  const commit = () => {
    cancelSoon?.();
    cancelSoon = undefined;
    isBehind = false;
    // A request may finish after the sandbox has been closed.
    if (changes.size === 0 || isClosed) return;
    const written = Array.from(changes.values());
    save(() => journal.write(stored(written)));
    changes.clear();
    afterCommit(written);
  };

  const save = (write: () => void) => {
    try {
      write();
    } catch (error) {
      // The error is reported once, not for every request while the disk is full.
      if (!isFailing) onError(error);
      isFailing = true;
      isBehind = true;
      throw new ApiError(500, "internal_error", "The data file could not be written.");
    }
    isFailing = false;
  };

  return {
    /** Records a change. An undefined value removes the record. */
    change: (kind: string, id: string, value: unknown, isAdded = false): void => {
      const key = `${kind} ${id}`;
      const isNew = changes.get(key)?.isNew ?? isAdded;
      if (value === undefined && isNew) changes.delete(key);
      else changes.set(key, { kind, id, value, isNew });
    },
    /** Drops a record's pending change, because the record equals what was last written. */
    forget: (kind: string, id: string) => void changes.delete(`${kind} ${id}`),
    /** Whether the last commit failed, so that its changes are still waiting. */
    isBehind: () => isBehind,
    commit,
    /**
     * Commits on the next turn of the event loop, together with any changes made by then. After a failure, waits for a
     * second.
     */
    commitSoon: (): void => {
      cancelSoon ??= soon(isBehind ? betweenTriesMs : 0, () => {
        try {
          commit();
        } catch {
          // The failure has been reported, and the next commit tries again.
        }
      });
    },
    /**
     * Runs `work` and writes its changes, as `State.transaction` does. If that fails, `takeBack` receives each of those
     * changes except removals.
     */
    transaction<Result>(work: () => Result, takeBack: (change: Unwritten) => void): Result {
      // Changes that are already waiting are not part of the transaction. They are written first, because a rollback
      // restores records from the file. New records are not restored, so they can wait: a request whose call is new
      // costs one commit, not two.
      if (Array.from(changes.values()).some(({ isNew }) => !isNew)) commit();
      const waiting = new Set(changes.keys());
      isBehind = false;
      const result = work();
      try {
        commit();
      } catch (error) {
        for (const [key, change] of Array.from(changes))
          if (!waiting.has(key) && change.value !== undefined) takeBack(change);
        isBehind = changes.size > 0;
        throw error;
      }
      return result;
    },
    /**
     * Writes all changes, then replaces all records except checkpoints.
     * @throws ApiError 500 if they cannot be written, in which case the records stay as they were
     */
    replace(records: Iterable<Change>): void {
      commit();
      save(() => journal.replace(stored(records)));
    },
    /** Writes all changes. Later commits write nothing. */
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

export type Commits = Readonly<ReturnType<typeof createCommits>>;

/**
 * Runs `work` on the next turn of the event loop, or after `ms` without keeping the process alive. Returns a function
 * that cancels it.
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
 * Yields the changes as they are written. A delivery's body never changes and its attempts grow, so both have separate
 * records.
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
