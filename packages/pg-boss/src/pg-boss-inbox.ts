import type { Receiver } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { defineInbox, type Inbox, type InboxAdmin } from "@svc-webhooks/core/inbox";
import { adminOf } from "./admin/admin.js";
import type { InboxWorker, WorkOptions } from "./inbox-worker.js";
import type { PgBossInboxOptions } from "./options.js";
import type { PgBossLike } from "./pg-boss-like.js";
import { check } from "./queue/check.js";
import { enqueueIn } from "./queue/enqueue.js";
import { setUp } from "./queue/queue.js";
import { queueOf } from "./queue/queue-of.js";
import { startWorker } from "./worker/worker.js";

/** The result of {@link pgBossInbox}. */
export interface PgBossInbox extends Inbox {
  /**
   * Creates the queue and its dead-letter queue, or updates the settings of both and of their stored jobs to match the
   * options. Call `setup` when you deploy, after `boss.start()`. Resolves to whether it changed anything.
   *
   * @throws WebhookError `queue_policy` if the queue was created with `partitionBy` and the options lack it, or vice
   *   versa
   * @throws ConfigError `invalid_option` if `schema` is not the schema of `boss`
   */
  setup(): Promise<boolean>;
  /**
   * Starts `boss` if it has not started, and runs the jobs of the queue. While the database is unavailable, `work`
   * keeps trying, and `boss` emits the cause as an `"error"` at most once a minute. Rejects with the driver's error if
   * the database or the role does not exist, the password is wrong or a privilege is missing, and with the last error
   * if `boss` is stopped.
   *
   * @throws ConfigError `invalid_option`, also if `boss` has no listener for `"error"` or its `schema` differs
   *   from the option; `unknown_option`
   * @throws WebhookError `queue_missing` if the queue does not exist; `queue_settings` if its settings would lose dead
   *   letters or contradict `afterDead`; `queue_policy` as in `setup`
   */
  work(receiver: Pick<Receiver, "resume">, options?: WorkOptions): Promise<InboxWorker>;
  /**
   * Resolves to one text for each condition that endangers jobs: settings of the queues and of their jobs, a database
   * that may lose commits, a `search_path` in which other roles may create operators, a missing listener for `"error"`,
   * no process that returns the jobs of killed workers, a small pool, dead letters older than a day. Rejects with a
   * `WebhookError` `queue_unavailable` if the database does not respond, and with a ConfigError
   * `invalid_option` if `schema` is not the schema of `boss`.
   */
  check(): Promise<readonly string[]>;
  /** The functions for operators. The id of a dead letter differs from the id of its job. */
  readonly admin: InboxAdmin;
}

/**
 * Stores deliveries in a queue of pg-boss 12.38 or newer, and runs their handlers from it. You own `boss`: start it,
 * listen for its errors and stop it.
 *
 * @throws ConfigError `invalid_option` if `boss` is not a `PgBoss`, or an option is invalid; `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { oncePerMinute } from "svc-webhooks/inbox";
 * import { pgBossInbox } from "svc-webhooks/pg-boss";
 * import { postgresStore } from "svc-webhooks/postgres";
 * import { Pool } from "pg";
 * import { PgBoss } from "pg-boss";
 *
 * const connectionString = process.env.DATABASE_URL ?? "postgres://localhost";
 * const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 1_000 });
 * const options = "-c search_path=pg_catalog";
 * export const boss = new PgBoss({ connectionString, connectionTimeoutMillis: 1_000, options });
 * boss.on("error", oncePerMinute((error) => console.error("pg-boss:", error)));
 * export const inbox = pgBossInbox(boss, { queue: "mail" });
 *
 * export const receiver = createReceiver({
 *   name: "mail",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   store: postgresStore(pool),
 *   on: { "email.delivered": inbox((event) => console.log(event.type)) },
 * });
 * ```
 */
export function pgBossInbox(boss: PgBossLike, options: PgBossInboxOptions = {}): PgBossInbox {
  assertValid(
    typeof Object(boss).send === "function" && typeof Object(boss).redrive === "function",
    "boss",
    "`pgBossInbox` needs a PgBoss of pg-boss 12.38 or newer.",
  );
  const queue = queueOf(boss, options);
  return Object.assign(defineInbox(enqueueIn(queue)), {
    setup: () => setUp(queue),
    work: (receiver: Pick<Receiver, "resume">, workOptions?: WorkOptions) =>
      startWorker(queue, receiver, workOptions),
    check: () => check(queue),
    admin: adminOf(queue),
  });
}
