import type { DeliveryStore, MaybePromise, StoreCall } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { assertDatabase } from "./connection/assert-database.js";
import { createConnection, transact } from "./connection/connection.js";
import { sharedBy } from "./connection/shared.js";
import type { SqliteDatabase } from "./database.js";
import type { RunIdentity } from "./run-identity.js";
import { checkDatabase } from "./schema/check.js";
import { DeliveryRecords } from "./store/records.js";
import { Runs } from "./store/runs.js";
import { runTransaction } from "./store/transaction.js";
import { bytesOf } from "./store/wire.js";

export interface SqliteStoreOptions {
  /**
   * How long your statements, `transaction` and `purge` wait while another connection writes, in milliseconds: 0 …
   * 60,000, default 5,000. The store sets it as `busy_timeout` of the connection. SQLite blocks the process during the
   * wait. The receiver's calls wait without blocking it, until their deadline. Errors: `invalid_option`.
   */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * Whether commits wait for the disk. The store sets it as `synchronous` of the connection. `"full"`: no power loss
   * undoes an acknowledged event. `"normal"`: a power loss can undo the last events, together with their effects in
   * this database; a killed process loses nothing. Use `"normal"` only with a write-ahead log (WAL): without it, a
   * power loss can corrupt the file. Default `"full"`. Errors: `invalid_option`.
   */
  readonly synchronous?: "full" | "normal" | undefined;
  /**
   * Whether a claim waits for the disk like other commits. Without a write-ahead log (WAL), it always does. Default
   * false: a power loss also ends the process whose claim it undoes, so the event would run again on the next attempt
   * even if the claim survived. Set the option to true if `maxRuns` must count runs that a power loss ended. Errors:
   * `invalid_option`.
   */
  readonly durableClaims?: boolean | undefined;
}

/** Makes the compiler reject a `work` function that returns a promise. The compiler's error contains the text. */
export type Synchronous<Result> =
  Result extends PromiseLike<unknown>
    ? "`work` returns a promise, but must be synchronous. Await everything before `transaction`."
    : unknown;

export interface SqliteStore<Db> extends DeliveryStore {
  /**
   * Runs `work` in a transaction that also completes the delivery. The writes of `work` and the completion are
   * committed together or not at all, so the writes happen exactly once. Call `transaction` once per run, as the last
   * step of a handler. `work` must be synchronous: do everything that you await before the call. All statements that
   * run on the store's connection during `work` belong to the transaction, whether they use the parameter of `work` or
   * the variable that you passed to `sqliteStore`.
   *
   * @returns the result of `work`, once the transaction is committed
   * @throws TransactionLostError `transaction_lost`: this run no longer owns the delivery. `work` was not called; let
   *   the handler throw it
   * @throws TypeError `not_claimed`: the context has no fence, because the store was unavailable and `onStoreError` is
   *   `"process"`
   * @throws ConfigError `invalid_option`: `context` is not a handler's own context, or `work` is an async function, a
   *   generator or not a function. `work` was not called
   * @throws WebhookError `asynchronous_work`: `work` returned a promise; `transaction_ended`: `work` ended the
   *   transaction itself, or caught an error after which SQLite had rolled back; `transaction_open`: the connection is
   *   in another transaction; `locked`: another connection has kept the database locked for longer than
   *   `busyTimeoutMs`; `statement_open`: the rows of a statement of the connection are still being read;
   *   `schema_missing`, `schema_newer`, `read_only`, `cannot_open`, `database_closed`
   * @throws the error of `work`, or of the database at the commit. Nothing was written
   */
  transaction<Result>(
    context: RunIdentity,
    work: ((db: Db) => Result) & Synchronous<Result>,
  ): Result;

  /**
   * Removes up to `limit` (1 … 1,000,000, default 1,000) expired records, and returns their number. Claims remove such
   * records too, so no cleanup job is necessary. `purge` blocks the process. If fewer than `limit` records have
   * expired, it reads the whole table.
   *
   * @throws ConfigError `invalid_option`, `unknown_option`
   * @throws WebhookError with the codes of `transaction` that concern the database or the connection
   */
  purge(options?: { readonly limit?: number | undefined }): number;

  /**
   * Returns one text for each condition that endangers records or transactions: missing or newer tables, a database in
   * memory, refused writes, a deleted file, and unsafe values of `journal_mode`, `synchronous` or `busy_timeout`.
   * Returns an empty list if there is none.
   */
  check(call?: StoreCall): readonly string[];
}

/**
 * Keeps records in a SQLite database, next to the application's own tables. All processes of one machine that open the
 * same file share the records. Each call that writes is one transaction. The store uses the machine's clock. You own
 * the connection: you create and close it. The store sets its `synchronous` and `busy_timeout`. Create the tables
 * first, with `migrate(db)` or the package's `schema.sql`.
 *
 * With {@link SqliteStore.transaction}, a handler's writes to the same database happen exactly once.
 *
 * @param db an open connection: `DatabaseSync` of `node:sqlite` (Node 22.13 or newer) or `@photostructure/sqlite`, or
 *   `Database` of `better-sqlite3` or `bun:sqlite`
 * @throws ConfigError `invalid_option`, also if another store on this connection has another `busyTimeoutMs` or
 *   `synchronous`; `unknown_option`
 * @throws WebhookError `transaction_open`, `database_closed`
 *
 * @example
 * ```ts
 * import { DatabaseSync } from "@photostructure/sqlite";
 * import { createReceiver } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 * import { migrate, sqliteStore } from "svc-webhooks/sqlite";
 *
 * const db = new DatabaseSync(process.env.DATABASE_FILE ?? "app.db");
 * db.exec("create table if not exists emails (id text primary key, delivered integer)");
 * const store = sqliteStore(db);
 * migrate(db);
 *
 * export const receiver = createReceiver({
 *   name: "billing",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   store,
 *   events: emailEvents,
 *   on: {
 *     "email.delivered": ({ data }, context) =>
 *       store.transaction(context, (tx) => {
 *         tx.prepare("update emails set delivered = 1 where id = ?").run(data?.email_id ?? null);
 *       }),
 *   },
 * });
 * ```
 */
export function sqliteStore<Db extends SqliteDatabase>(
  db: Db,
  options: SqliteStoreOptions = {},
): SqliteStore<Db> {
  const { busyTimeoutMs, synchronous, durableClaims } = checked(options);
  assertDatabase(db);
  const records = new DeliveryRecords(db);
  const settings = { busyTimeoutMs, synchronous };
  const connection = createConnection(db, settings, () => records.forgetStatements());
  const runs = new Runs();
  const { running } = sharedBy(db);

  return {
    shared: true,

    claim(key, request, call) {
      const bytes = bytesOf(key);
      const known = connection.glance(() => records.known(bytes, request));
      if (known) return known;
      const claimed = connection.write(() => records.claim(bytes, request), call, !durableClaims);
      return then(claimed, (result) => {
        if (result.status === "claimed") runs.add(key, request.token, result.fence);
        return result;
      });
    },

    complete(key, request, call) {
      if (runs.end(key, request.token)) return "owner";
      const complete = () => records.change("complete", bytesOf(key), request);
      return connection.write(complete, call, running.has(key));
    },

    release(key, request, call) {
      if (runs.end(key, request.token)) return false;
      const release = () => records.change("release", bytesOf(key), request);
      return connection.write(release, call, running.has(key));
    },

    extend(key, request, call) {
      if (runs.isFinished(key, request.token)) return true;
      const extended = connection.write(
        () => records.change("extend", bytesOf(key), request),
        call,
        true,
      );
      // The run is checked again, because its transaction may have been committed while the call waited.
      return then(extended, (is) => is || runs.isFinished(key, request.token));
    },

    forget: (key, call) =>
      connection.write(() => records.change("forget", bytesOf(key), undefined), call),

    peek: (keys, call) =>
      connection.read(() => {
        const now = Date.now();
        return keys.map((key) => records.stateOf(bytesOf(key), now));
      }, call),

    transaction(context, work) {
      const run = () => runTransaction(db, records, context, work as (on: unknown) => unknown);
      const { idempotencyKey } = Object(context) as RunIdentity;
      const result = running.has(idempotencyKey) ? connection.lazily(run) : run();
      // Both members of the context are present, because `runTransaction` throws otherwise.
      runs.finish(context.idempotencyKey, context.fence ?? 0);
      return result as ReturnType<typeof work>;
    },

    purge(purgeOptions = {}) {
      assertOptions(purgeOptions, ["limit"]);
      const { limit = 1_000 } = purgeOptions;
      assertValid(
        Number.isSafeInteger(limit) && limit >= 1 && limit <= 1_000_000,
        "limit",
        "`limit` must be a whole number from 1 to 1,000,000.",
      );
      return connection.run(() => transact(db, () => records.purge(limit)));
    },

    check: () => checkDatabase(db, busyTimeoutMs),
  };
}

function checked(options: SqliteStoreOptions) {
  assertOptions(options, ["busyTimeoutMs", "synchronous", "durableClaims"]);
  const { busyTimeoutMs = 5_000, synchronous = "full", durableClaims = false } = options;
  assertValid(
    Number.isSafeInteger(busyTimeoutMs) && busyTimeoutMs >= 0 && busyTimeoutMs <= 60_000,
    "busyTimeoutMs",
    "`busyTimeoutMs` must be a whole number from 0 to 60,000.",
  );
  assertValid(
    synchronous === "full" || synchronous === "normal",
    "synchronous",
    '`synchronous` must be "full" or "normal".',
  );
  assertValid(
    typeof durableClaims === "boolean",
    "durableClaims",
    "`durableClaims` must be a boolean.",
  );
  return { busyTimeoutMs, synchronous, durableClaims };
}

/** Applies a function to a value or to the value of a promise. */
const then = <From, To>(from: MaybePromise<From>, apply: (value: From) => To): MaybePromise<To> =>
  from instanceof Promise ? from.then(apply) : apply(from);
