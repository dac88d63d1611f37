import type { MaybePromise, StoreCall } from "@svc-webhooks/core";
import type { SqliteDatabase } from "../database.js";
import { explained, isBusy, notSent } from "../errors.js";

/** The values of a row in the order of its columns. Drivers can be set to return arrays. */
export const valuesOf = (row: unknown): readonly unknown[] => Object.values(Object(row) as object);

/** Returns the value of a pragma of the connection. */
export const pragma = (db: SqliteDatabase, name: string): unknown =>
  valuesOf(db.prepare(`PRAGMA ${name}`).get())[0];

/** Rolls back, unless SQLite or the caller has ended the transaction already. */
export function rollBack(db: SqliteDatabase): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // There is no transaction.
  }
}

/** Runs `work` in a transaction that holds the write lock from its beginning. Waits for the lock. */
export function transact<Result>(db: SqliteDatabase, work: () => Result): Result {
  explaining(() => db.exec("BEGIN IMMEDIATE"));
  try {
    const result = work();
    explaining(() => db.exec("COMMIT"));
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Runs a step of the store, and explains its error. */
export function explaining<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw explained(error);
  }
}

export interface ConnectionSettings {
  /** How long statements of the application and `transaction` wait for a lock. */
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
}

/** Runs the store's calls on a connection that the application uses too. */
export interface Connection {
  /** Runs a step that only reads. */
  readonly read: <Result>(step: () => Result) => Result;
  /**
   * Runs a step in a transaction of its own, without blocking the process: if the database is locked, it waits for a
   * timer and repeats the step.
   *
   * @param isLazy whether a power loss may undo the step
   */
  readonly write: <Result>(
    step: () => Result,
    call: StoreCall | undefined,
    isLazy?: boolean,
  ) => MaybePromise<Result>;
}

/** The longest pause before a locked database is tried again, in milliseconds. */
const longestPauseMs = 25;

export function createConnection(
  db: SqliteDatabase,
  { busyTimeoutMs, synchronous }: ConnectionSettings,
): Connection {
  const settings = `PRAGMA busy_timeout=${busyTimeoutMs}; PRAGMA synchronous=${synchronous}`;
  explaining(() => db.exec(settings));
  /** The pause that all waiting calls share, so that only the first of them tries again after it. */
  let pause: Promise<void> | undefined;

  const attempt = <Result>(step: () => Result, isLazy: boolean): Result => {
    try {
      db.exec(
        `PRAGMA busy_timeout=0; ${isLazy ? "PRAGMA synchronous=NORMAL; " : ""}BEGIN IMMEDIATE`,
      );
      try {
        const result = step();
        db.exec("COMMIT");
        return result;
      } catch (error) {
        rollBack(db);
        throw error;
      }
    } finally {
      restore(isLazy);
    }
  };

  const restore = (isLazy: boolean) => {
    try {
      db.exec(isLazy ? settings : `PRAGMA busy_timeout=${busyTimeoutMs}`);
    } catch {
      // Inside a transaction of the application, `synchronous` has not been changed. A closed connection has none.
    }
  };

  const waiting = async <Result>(
    step: () => Result,
    call: StoreCall | undefined,
    isLazy: boolean,
    cause: unknown,
  ): Promise<Result> => {
    let last = cause;
    for (let pauseMs = 1; !call?.signal.aborted;) {
      if (pause) {
        await pause;
        continue;
      }
      try {
        return attempt(step, isLazy);
      } catch (error) {
        if (!isBusy(error)) throw explained(error);
        last = error;
      }
      pause = sleep(pauseMs).then(() => (pause = undefined));
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
    throw notSent(last);
  };

  return {
    read: explaining,
    write(step, call, isLazy = false) {
      if (pause) return waiting(step, call, isLazy, undefined);
      try {
        return attempt(step, isLazy);
      } catch (error) {
        if (!isBusy(error)) throw explained(error);
        return waiting(step, call, isLazy, error);
      }
    },
  };
}

const sleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
