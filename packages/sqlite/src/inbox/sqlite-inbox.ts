import type { AnyEvent, Receiver } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { concurrencyOf, engineOptions } from "@svc-webhooks/core/engine";
import {
  assertWhole,
  defineInbox,
  oncePerMinute,
  type Inbox,
  type InboxAdmin,
  type InboxEntry,
  type RetryOptions,
} from "@svc-webhooks/core/inbox";
import { assertDatabase } from "../connection/assert-database.js";
import { createConnection } from "../connection/connection.js";
import { sharedBy } from "../connection/shared.js";
import type { SqliteInboxDatabase } from "../database.js";
import { checkDatabase } from "../schema/check.js";
import { version, versionIn } from "../schema/schema.js";
import { adminOf } from "./admin.js";
import { checkJobs } from "./check.js";
import { enqueueIn } from "./enqueue.js";
import { Jobs } from "./jobs.js";
import { roomOf } from "./room.js";
import { startWorker } from "./worker.js";

export interface SqliteInboxOptions {
  /**
   * The name of the queue, 1 to 200 characters: letters, digits, `_`, `-`, `.` and `/`, not ending in `.dead`. Default
   * `"webhooks"`. Errors: `invalid_option`.
   */
  readonly queue?: string | undefined;
  /**
   * Returns the key of an event, 1 to 500 characters without NUL or lone surrogates, such as the id of an order, or
   * undefined for no key. For any other result, the delivery is not stored, and the response is 503. Events of the same
   * key run one at a time, in the order in which they were accepted; an event without a key never waits for another
   * event. You may add, change or remove the option at any time: it applies to the events that are accepted afterwards.
   * Default: no order.
   */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /**
   * With `partitionBy`: whether the later events of a key run after an event has become a dead letter (`"continue"`),
   * or wait until the letter is done or discarded (`"hold"`). A letter keeps the policy of the worker that ran it.
   * Default `"continue"`. Errors: `invalid_option`.
   */
  readonly afterDead?: "continue" | "hold" | undefined;
  /**
   * The number of attempts for an event and the delays between them. The run of a worker that was killed counts as an
   * attempt. Default: 20 attempts in one to two hours. Errors: `invalid_option`, `unknown_option`.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * Which commits wait for the disk. `"accept"`: those that store deliveries. A power loss may undo the last commits of
   * a worker, each as a whole: the effects of `transaction`, the record and the end of the job. The event then runs
   * again. Other readers of the file may have seen such effects before the power loss. `"each"`: all commits, which
   * makes workers slower. Default `"accept"`. Errors: `invalid_option`.
   */
  readonly durability?: "accept" | "each" | undefined;
  /**
   * Deliveries are refused with 503 while the disk has fewer free bytes than this, 0 … 9,007,199,254,740,991. Workers
   * continue: they must write in order to free space. Default 67,108,864 (64 MiB). Errors: `invalid_option`.
   */
  readonly reserveBytes?: number | undefined;
  /** The same as in `sqliteStore`, which must have the same value on this connection. Errors: `invalid_option`. */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * Receives the errors of workers, each message at most once a minute. Default: `console.error`. Errors:
   * `invalid_option`.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /** Called after `admin.discard` has removed a dead letter, for an audit log. Errors: `invalid_option`. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}

const optionNames: readonly (keyof SqliteInboxOptions)[] = [
  "queue",
  "partitionBy",
  "afterDead",
  "retry",
  "durability",
  "reserveBytes",
  "busyTimeoutMs",
  "onError",
  "onDiscard",
];

/** The options of `work`. */
export interface WorkOptions {
  /** The maximum number of jobs that this process runs at a time, 1 … 1,000. Default 16. Errors: `invalid_option`. */
  readonly concurrency?: number | undefined;
}

/** A worker of an inbox. */
export interface InboxWorker {
  /**
   * Takes no more jobs, and resolves when the running jobs have ended. Jobs still running after `deadlineMs`
   * milliseconds, 0 … 2,147,483,647, return to the queue, which costs them no attempt. If such a run still commits in
   * `transaction`, its event is done. After that, drain the receiver and close `db`. Errors: `invalid_option`,
   * `unknown_option`.
   */
  stop(options: { readonly deadlineMs: number }): Promise<void>;
}

/** The result of {@link sqliteInbox}. */
export interface SqliteInbox extends Inbox {
  /**
   * Runs the jobs of the queue. Workers of other processes on the same machine may run jobs of the same file. While the
   * file cannot be written, the worker keeps trying and passes the cause to `onError`.
   *
   * @throws ConfigError `invalid_option`, `unknown_option` (as a rejection)
   * @throws WebhookError `schema_missing`, `schema_newer`, `cannot_open`, `database_closed` (as a rejection)
   */
  work(receiver: Pick<Receiver, "resume">, options?: WorkOptions): Promise<InboxWorker>;
  /**
   * Resolves to one text for each condition that endangers jobs: those of `check` of `sqliteStore`, a missing trigger,
   * a nearly full disk, and dead letters that are older than a day. Rejects with a `WebhookError` with the codes of
   * `work`.
   */
  check(): Promise<readonly string[]>;
  /** The functions for operators. The id of a job is its key. */
  readonly admin: InboxAdmin;
}

/**
 * Stores deliveries in a SQLite file, and runs their handlers from it, in this process or in others of the same machine.
 * It needs no server: `migrate(db)` creates its tables. Use it with `sqliteStore` on the same connection: then the end
 * of a job is part of the commit that completes its event, and with `transaction`, the effects of the handler are too.
 * With another store, a second commit ends the job. You own the connection.
 *
 * @param db an open connection, as for `sqliteStore`
 * @throws ConfigError `invalid_option`, also if a store on this connection has another `busyTimeoutMs` or
 *   `synchronous: "normal"`; `unknown_option`
 * @throws WebhookError `transaction_open`, `database_closed`
 *
 * @example
 * ```ts
 * import { DatabaseSync } from "@photostructure/sqlite";
 * import { createReceiver } from "svc-webhooks";
 * import { migrate, sqliteInbox, sqliteStore } from "svc-webhooks/sqlite";
 *
 * const db = new DatabaseSync(process.env.DATABASE_FILE ?? "app.db");
 * db.exec("create table if not exists emails (id text primary key, delivered integer)");
 * const store = sqliteStore(db);
 * const inbox = sqliteInbox(db);
 * migrate(db);
 *
 * export const receiver = createReceiver({
 *   name: "mail",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   store,
 *   on: {
 *     "email.delivered": inbox((event, context) =>
 *       store.transaction(context, (tx) => {
 *         tx.prepare("update emails set delivered = 1 where id = ?").run(String(event.id));
 *       }),
 *     ),
 *   },
 * });
 * export const worker = await inbox.work(receiver);
 * ```
 */
export function sqliteInbox(
  db: SqliteInboxDatabase,
  options: SqliteInboxOptions = {},
): SqliteInbox {
  assertDatabase(db);
  const { queue, partitionBy, holds, retry, onDiscard } = engineOptions(options, optionNames);
  const { durability = "accept", reserveBytes = 67_108_864 } = options;
  const { busyTimeoutMs = 5_000, onError = console.error } = options;
  assertValid(
    durability === "accept" || durability === "each",
    "durability",
    '`durability` must be "accept" or "each".',
  );
  assertWhole(reserveBytes, "reserveBytes", 0, Number.MAX_SAFE_INTEGER);
  assertWhole(busyTimeoutMs, "busyTimeoutMs", 0, 60_000);
  assertValid(typeof onError === "function", "onError", "`onError` must be a function.");
  const { all } = Object(db.prepare("select 1")) as { readonly all?: unknown };
  assertValid(
    typeof all === "function",
    "db",
    "`sqliteInbox` needs a driver whose statements have `all`: node:sqlite, @photostructure/sqlite, better-sqlite3 or bun:sqlite.",
  );

  const jobs = new Jobs(db, queue);
  const connection = createConnection(db, { busyTimeoutMs, synchronous: "full" }, () =>
    jobs.forgetStatements(),
  );
  const room = roomOf(db, reserveBytes);
  const changed = () => {
    for (const listener of sharedBy(db).listeners) listener();
  };
  const report = oncePerMinute(onError);
  return Object.assign(
    defineInbox(enqueueIn(jobs, connection, { partitionBy, assertRoom: room.assert, changed })),
    {
      async work(receiver: Pick<Receiver, "resume">, workOptions?: WorkOptions) {
        const concurrency = concurrencyOf(workOptions);
        const { resume } = Object(receiver) as Partial<Receiver>;
        assertValid(typeof resume === "function", "receiver", "`work` needs a receiver.");
        // Fails here if there are no tables, not in the background.
        connection.run(() => jobs.nextDueAt());
        const isLazy = durability === "accept";
        const settings = { db, jobs, connection, retry, holds, concurrency, isLazy };
        return startWorker({ ...settings, onError: report }, receiver);
      },
      async check() {
        const problems = checkDatabase(db, busyTimeoutMs);
        if (versionIn(db) !== version) return problems;
        return [
          ...problems,
          ...connection.run(() => checkJobs(jobs, room, { queue, reserveBytes })),
        ];
      },
      admin: adminOf(jobs, connection, {
        isOrdered: partitionBy !== undefined,
        changed,
        onDiscard,
      }),
    },
  );
}
