import { WebhookError, type MaybePromise, type StoreCall } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import type { SqliteDatabase } from "../database.js";
import { explained, isBusy, notSent } from "../errors.js";

/**
 * Returns the values of a row in the order of its columns, whether the driver returns it as an object or as an array.
 */
export const valuesOf = (row: unknown): readonly unknown[] => Object.values(Object(row) as object);

/** Returns the value of a pragma on this connection. */
export const pragma = (db: SqliteDatabase, name: string): unknown =>
  valuesOf(db.prepare(`PRAGMA ${name}`).get())[0];

/** Rolls the open transaction back, unless it has ended already. */
export function rollBack(db: SqliteDatabase): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // SQLite or the application's code has ended the transaction.
  }
}

/**
 * Begins a transaction that holds the write lock. It starts with BEGIN, which fails inside a transaction of the
 * application; BEGIN IMMEDIATE would first take the lock for that transaction.
 */
const begin = "BEGIN; COMMIT; BEGIN IMMEDIATE";

/**
 * Runs `work` in a transaction that holds the write lock from its beginning. Waits for the lock for up to
 * `busy_timeout`, which blocks the process.
 *
 * @param run runs each statement of the transaction itself, not those of `work`
 */
export function transact<Result>(
  db: SqliteDatabase,
  work: () => Result,
  run: (statement: () => void) => void = explaining,
): Result {
  run(() => db.exec(begin));
  try {
    const result = work();
    run(() => db.exec("COMMIT"));
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Runs a step of the store. If the step fails for a known cause, throws an error that states the cause and the fix. */
export function explaining<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw explained(error);
  }
}

export interface ConnectionSettings {
  /** How long statements of the application, `transaction` and `purge` wait for a lock, in milliseconds. */
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
}

/** Runs the store's calls on a connection that the application uses too. */
export interface Connection {
  /**
   * Runs a step, which may begin a transaction itself. If the database is locked, SQLite blocks the process for up to
   * `busy_timeout`.
   */
  readonly run: <Result>(step: () => Result) => Result;
  /** Tries once to run a step that only reads. Returns undefined if the database is locked. */
  readonly glance: <Result>(step: () => Result) => Result | undefined;
  /**
   * Runs a step that only reads. If the database is locked, waits like `write`: with a rollback journal, a writer locks
   * out readers.
   */
  readonly read: <Result>(step: () => Result, call: StoreCall | undefined) => MaybePromise<Result>;
  /**
   * Runs a step in a transaction of its own, without blocking the process: if the database is locked, `write` repeats
   * the step after a pause, until the call's deadline.
   *
   * @param isLazy whether a power loss may undo the step
   */
  readonly write: <Result>(
    step: () => Result,
    call: StoreCall | undefined,
    isLazy?: boolean,
  ) => MaybePromise<Result>;
  /**
   * Runs a step whose own commits a power loss may undo, if the file has a write-ahead log. Then restores the settings
   * of the connection, also if the step throws.
   */
  readonly lazily: <Result>(step: () => Result) => Result;
}

/** The longest pause before a step is repeated because the database was locked, in milliseconds. */
const longestPauseMs = 25;

/** The settings that the stores and inboxes of a connection share. */
const settingsOf = new WeakMap<SqliteDatabase, ConnectionSettings>();

function assertShared(db: SqliteDatabase, own: ConnectionSettings): void {
  const other = settingsOf.get(db) ?? own;
  for (const option of ["busyTimeoutMs", "synchronous"] as const) {
    assertValid(
      other[option] === own[option],
      option,
      `Another store or inbox on this connection has \`${option}\` ${other[option]}. Pass the same value to both, or open a connection for each. An inbox needs \`synchronous\` "full".`,
    );
  }
}

/** Sets pragmas, and ignores the error if the connection does not accept them. */
function quietly(db: SqliteDatabase, pragmas: string): void {
  try {
    db.exec(pragmas);
  } catch {
    // The error can be ignored in each case: inside a transaction of the application, SQLite never changes
    // `synchronous`; a closed connection has no settings; and while an iterator is open, some drivers refuse pragmas,
    // but they also refuse writes.
  }
}

/** Returns functions that run a step, and repeat it while the database is locked, until the call's deadline. */
function createPatience() {
  /**
   * The pause that all waiting calls share. After the pause, the first of them tries again. If the database is still
   * locked, the next pause starts, and the others do not try.
   */
  let pause: Promise<void> | undefined;

  const waiting = async <Result>(
    step: () => Result,
    call: StoreCall | undefined,
    cause: unknown,
  ): Promise<Result> => {
    let unsent = notSent(cause);
    for (let pauseMs = 1; !call?.signal.aborted;) {
      if (call) call.unsent = unsent;
      if (pause) {
        await pause;
        continue;
      }
      try {
        return step();
      } catch (error) {
        if (!isBusy(error)) throw explained(error);
        unsent = notSent(error);
      }
      pause = sleep(pauseMs).then(() => (pause = undefined));
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
    throw unsent;
  };

  /** Runs a step synchronously, and waits only if the database is locked. */
  const atOnce = <Result>(
    step: () => Result,
    call: StoreCall | undefined,
  ): MaybePromise<Result> => {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error)) throw explained(error);
      return waiting(step, call, error);
    }
  };

  return {
    atOnce,
    /** Runs a step like `atOnce`, but waits first if other calls are waiting already. */
    inTurn: <Result>(step: () => Result, call: StoreCall | undefined): MaybePromise<Result> =>
      pause ? waiting(step, call, undefined) : atOnce(step, call),
  };
}

/**
 * Sets the pragmas of a connection, and returns functions that run the store's calls on it.
 *
 * @param forget called to discard the prepared statements when the application may have opened the connection again
 * @throws ConfigError `invalid_option`: another store or inbox on the connection has other settings
 */
export function createConnection(
  db: SqliteDatabase,
  own: ConnectionSettings,
  forget: () => void,
): Connection {
  const restoreTimeout = `PRAGMA busy_timeout=${own.busyTimeoutMs}`;
  const settings = `${restoreTimeout}; PRAGMA synchronous=${own.synchronous}`;
  assertShared(db, own);
  explaining(() => db.exec(settings));
  settingsOf.set(db, own);
  const { atOnce, inTurn } = createPatience();
  /** Whether the file is known to have a write-ahead log. */
  let hasLog = false;

  /** Runs a step with other pragmas, then restores those of the connection. */
  const withPragmas = <Result>(set: string, restore: string, step: () => Result): Result => {
    quietly(db, set);
    try {
      return step();
    } finally {
      quietly(db, restore);
    }
  };
  /** Runs a step so that it fails, instead of blocking the process, if the database is locked. */
  const withoutWaiting = <Result>(step: () => Result): Result =>
    withPragmas("PRAGMA busy_timeout=0", restoreTimeout, step);

  /**
   * Runs a step, and repeats it once if it fails for a reason other than a lock: the application may have closed the
   * connection and opened it again. The new connection has no settings, and the old statements are invalid or still use
   * the old connection.
   */
  const renewing = <Result>(step: () => Result): Result => {
    try {
      return step();
    } catch (error) {
      if (isBusy(error) || error instanceof WebhookError) throw error;
      db.exec(settings);
      forget();
      return step();
    }
  };

  // With a write-ahead log, a reader does not wait for writers, so the timeout need not be changed.
  const readOnce = <Result>(step: () => Result): Result =>
    renewing(() => (hasLog ? step() : withoutWaiting(step)));

  /** Whether commits may be lazy: without a log, a power loss during such a commit could corrupt the file. */
  const mayBeLazy = () => (hasLog ||= withoutWaiting(() => pragma(db, "journal_mode") === "wal"));

  const writeOnce = <Result>(step: () => Result, isLazy: boolean): Result => {
    // Leaves the errors as they are, because `renewing` and `inTurn` distinguish them.
    const write = () => transact(db, step, (statement) => statement());
    return renewing(() =>
      isLazy && mayBeLazy()
        ? withPragmas("PRAGMA busy_timeout=0; PRAGMA synchronous=NORMAL", settings, write)
        : withoutWaiting(write),
    );
  };

  return {
    run: (step) => explaining(() => renewing(step)),
    glance(step) {
      try {
        return readOnce(step);
      } catch (error) {
        if (!isBusy(error)) throw explained(error);
        return undefined;
      }
    },
    read: (step, call) => atOnce(() => readOnce(step), call),
    write: (step, call, isLazy = false) => inTurn(() => writeOnce(step, isLazy), call),
    lazily: (step) =>
      explaining(mayBeLazy) ? withPragmas("PRAGMA synchronous=NORMAL", settings, step) : step(),
  };
}

const sleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
