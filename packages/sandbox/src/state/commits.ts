import { ApiError } from "../errors.js";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "../lib/timers.js";
import type { Change, Journal } from "./journal.js";
import type { DeliveryRecord } from "./records.js";

/** A change that is not written yet. */
export interface Unwritten extends Change {
  /** The file has no such record. */
  readonly isNew: boolean;
}

export interface CommitsOptions {
  readonly journal: Journal;
  /** Receives what each commit has written. */
  readonly afterCommit: (written: readonly Change[]) => void;
  /** Receives the error of the first commit that fails, until one succeeds. */
  readonly onError: (error: unknown) => void;
}

/** Real milliseconds until a commit is tried again that nothing waits for. */
const betweenTriesMs = 1_000;

/** The changes that the journal has not seen, and their commits. */
export function createCommits({ journal, afterCommit, onError }: CommitsOptions) {
  const changes = new Map<string, Unwritten>();
  let cancelSoon: (() => void) | undefined;
  let isClosed = false;
  /** Whether a commit has failed since the last one that succeeded. */
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
    // A request may end after the sandbox has been closed.
    if (changes.size === 0 || isClosed) return;
    const written = Array.from(changes.values());
    try {
      journal.write(stored(written));
    } catch (error) {
      // This is reported once, not for each request on a full disk.
      if (!isFailing) onError(error);
      isFailing = true;
      isBehind = true;
      throw new ApiError(500, "internal_error", "The data file could not be written.");
    }
    isFailing = false;
    changes.clear();
    afterCommit(written);
  };

  return {
    /** Notes a change; an undefined value removes the record. */
    change: (kind: string, id: string, value: unknown, isAdded = false): void => {
      const key = `${kind} ${id}`;
      const isNew = changes.get(key)?.isNew ?? isAdded;
      if (value === undefined && isNew) changes.delete(key);
      else changes.set(key, { kind, id, value, isNew });
    },
    /** Drops the pending change of a record that equals what was written. */
    forget: (kind: string, id: string) => void changes.delete(`${kind} ${id}`),
    /** Whether changes are waiting that the last commit could not write. */
    isBehind: () => isBehind,
    commit,
    /** Commits in the next turn, with whatever else has changed by then. After a failure, a second later. */
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
     * Runs and writes `work` as `State.transaction` does. If that fails, `takeBack` receives each change of `work`
     * that adds or changes a record.
     */
    transaction<Result>(work: () => Result, takeBack: (change: Unwritten) => void): Result {
      // Waiting changes are not part of it. They are written first, because records are restored from the file.
      // New ones are not restored, so that a request whose call is new costs one commit, not two.
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
    /** Writes all changes. No commit writes any after that. */
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

/** Runs `work` in the next turn, or after `ms`, which keeps no process alive. Returns what cancels it. */
function soon(ms: number, work: () => void): () => void {
  if (ms === 0) {
    const turn = setImmediate(work);
    return () => clearImmediate(turn);
  }
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}

/** The changes as they are written: the parts of a delivery that grow or never change have records of their own. */
function* stored(changes: Iterable<Change>): Iterable<Change> {
  for (const change of changes) {
    if (change.kind !== "delivery" || change.value === undefined) yield change;
    else {
      const { body: _body, attempts: _attempts, ...value } = change.value as DeliveryRecord;
      yield { ...change, value };
    }
  }
}
