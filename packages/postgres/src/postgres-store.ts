import { createHash } from "node:crypto";
import {
  assertOptions,
  ReceiverConfigError,
  WebhookError,
  type ClaimResult,
  type CompleteResult,
  type DeliveryStore,
  type StoreCall,
} from "@svc-webhooks/core";
import { checkServer } from "./check.js";
import { connect, type PostgresClient } from "./connect.js";
import { firstStatement, replyOf, type Database } from "./database.js";
import { nextTurn } from "./drivers/gate.js";
import type { ClientOf, PgPool } from "./drivers/node-postgres.js";
import type { PostgresJs, TxOf } from "./drivers/postgres-js.js";
import { explained, explainedWork, isTransient } from "./errors.js";
import { schemaOf } from "./schema.js";

export interface PostgresStoreOptions {
  /**
   * The schema of the store's table and functions: 1 to 63 characters of `a-z`, `0-9` and `_`. Default
   * `"svc_webhooks"`. Errors: `invalid_option`.
   */
  readonly schema?: string | undefined;
  /**
   * Whether a claim waits until the server has written it to disk. Default false: a claim that a crash of
   * the server forgets can let a second run start, of which `transaction` commits only one. Completions
   * always wait. Set it if your handlers do not use `transaction`. Errors: `invalid_option`.
   */
  readonly durableClaims?: boolean | undefined;
}

/** The members of a handler's context that identify its run. */
export interface RunIdentity {
  readonly idempotencyKey: string;
  readonly fence?: number | undefined;
}

/** A statement for a client of yours: `tx.query(text, values)`. */
export interface Statement {
  readonly text: string;
  readonly values: string[];
}

export interface PostgresStore<Tx> extends DeliveryStore {
  /**
   * Runs `work` in a transaction in which the delivery becomes done too, so that its effects and its
   * completion are committed together or not at all: exactly once. Call it once per run, as the last step
   * of a handler, and return or await its promise; do what is slow or remote before it. `work` uses `tx` for everything that belongs to
   * the transaction, and must not use the pool.
   *
   * @returns what `work` resolves to, once it is committed
   * @throws TransactionLost `transaction_lost`: this run does not own the delivery any more. Nothing was
   *   written; let it reject the handler
   * @throws TypeError `not_claimed`: the context has no fence, because the store was unavailable and
   *   `onStoreError` is `"process"`
   * @throws WebhookError `transaction_ended`: `work` has ended the transaction itself, or has
   *   sent a statement after its end; `transaction_aborted`: `work` caught the error of a statement; `pool_timeout`: `work` waited for a
   *   connection of the pool; `not_sent`: no connection; `schema_missing`, `permission_denied`, `read_only`
   * @throws ReceiverConfigError `invalid_option`: `context` is not that of a handler
   * @throws what `work` rejects with, or the database at the commit. Nothing was written, except if the
   *   connection was lost during the commit; then the next attempt finds the truth
   */
  transaction<Result>(context: RunIdentity, work: (tx: Tx) => Promise<Result>): Promise<Result>;

  /**
   * Returns the statement that completes the delivery in a transaction that you have begun yourself. Run
   * it last, before the commit. It fails, and with it your transaction, with the SQLSTATE `SVC01` unless
   * this run owns the delivery.
   *
   * @throws TypeError `not_claimed`; ReceiverConfigError `invalid_option`
   */
  finish(context: RunIdentity): Statement;

  /**
   * Removes records that expired before the current hour, at most `limit` (1 … 1,000,000, default 1,000), and
   * resolves to their number. Claims also remove them, so that no job is necessary.
   *
   * @throws ReceiverConfigError `invalid_option`, `unknown_option`
   */
  purge(options?: { readonly limit?: number | undefined }): Promise<number>;

  /**
   * Resolves to what endangers records or transactions, one sentence each: a missing schema, rights, a
   * replica, durability, the clock, the settings of the pool.
   */
  check(call?: StoreCall): Promise<readonly string[]>;
}

/**
 * Keeps records in PostgreSQL 12 or newer (tested: 15 and 18), shared by all processes that use the same schema. One statement per call,
 * timed by the server's clock; safe behind PgBouncer in transaction mode. You own the client: create and
 * close it. Create the schema first, with `migrate(db)` or the package's `schema.sql`.
 *
 * With {@link PostgresStore.transaction}, a handler's writes to the same database happen exactly once.
 *
 * @param db a `Pool` of pg, the `sql` of postgres.js, or a `Database`: `fromDrizzle`, `fromKysely`,
 *   `fromPglite`, or your own
 * @throws ReceiverConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "@svc-webhooks/core";
 * import { emailEvents } from "@svc-webhooks/events";
 * import { postgresStore } from "@svc-webhooks/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ max: 10, connectionTimeoutMillis: 1_000 });
 * const store = postgresStore(pool);
 *
 * export const receiver = createReceiver({
 *   name: "billing",
 *   secret: "whsec_…",
 *   store,
 *   events: emailEvents,
 *   on: {
 *     "email.delivered": ({ data }, context) =>
 *       store.transaction(context, (tx) =>
 *         tx.query("update emails set delivered = true where id = $1", [data?.email_id]),
 *       ),
 *   },
 * });
 * ```
 */
export function postgresStore<Pool extends PgPool>(
  db: Pool,
  options?: PostgresStoreOptions,
): PostgresStore<ClientOf<Pool>>;
export function postgresStore<Sql extends PostgresJs>(
  db: Sql,
  options?: PostgresStoreOptions,
): PostgresStore<TxOf<Sql>>;
export function postgresStore<Tx>(
  db: Database<Tx>,
  options?: PostgresStoreOptions,
): PostgresStore<Tx>;
export function postgresStore(
  db: PostgresClient,
  options: PostgresStoreOptions = {},
): PostgresStore<unknown> {
  assertOptions(options, ["schema", "durableClaims"]);
  const { durableClaims = false } = options;
  if (typeof durableClaims !== "boolean") {
    throw new ReceiverConfigError(
      "invalid_option",
      "durableClaims",
      "`durableClaims` must be a boolean.",
    );
  }
  const schema = schemaOf(options.schema);
  const database = connect(db);
  /** The keys and tokens of runs that `transaction` has finished. Their `complete` needs no statement. */
  const finished = new Set<string>();
  /** The transactions that have begun, by key: a handler may not have awaited its own. */
  const open = new Map<string, Promise<unknown>>();
  /** The longest lease of a claim: how long the others wait for a process that is frozen. */
  let idleTimeoutMs = 0;

  const explainedCall = (error: unknown) => explained(error, schema);

  const call = async (text: string, values: readonly string[], storeCall?: StoreCall) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return replyOf(await database.query(text, values, storeCall));
      } catch (error) {
        // Of databases whose default isolation is stricter than "read committed".
        if (!isTransient(error) || attempt === attempts) throw explainedCall(error);
      }
    }
  };

  const finish = (context: RunIdentity): Statement => {
    // JavaScript callers may pass anything, and a copy of the context lacks its getters.
    const { idempotencyKey, fence } = Object(context) as Partial<RunIdentity>;
    if (typeof idempotencyKey !== "string") throw notAContext();
    if (fence === undefined) {
      const text =
        'The context has no fence, so this run cannot complete the delivery: the store was unavailable, and `onStoreError` is "process".';
      throw Object.assign(new TypeError(text), { code: "not_claimed" });
    }
    if (!Number.isSafeInteger(fence)) throw notAContext();
    return { text: schema.finish, values: [uuid(idempotencyKey), String(fence)] };
  };

  return {
    shared: true,

    async claim(key, { token, leaseMs, retainMs, lineage, takeParked }, storeCall) {
      idleTimeoutMs = Math.max(idleTimeoutMs, leaseMs);
      const values = [
        uuid(key),
        encoded(token),
        String(leaseMs),
        String(retainMs),
        encoded(lineage),
        takeParked ? "1" : "",
        durableClaims ? "1" : "",
      ];
      return claimResult(await call(schema.claim, values, storeCall));
    },

    async complete(key, { token, retainMs, lineage }, storeCall) {
      const owner = encoded(token);
      await endOf(open.get(key));
      if (finished.delete(runOf(key, owner))) return "owner";
      const values = [uuid(key), owner, String(retainMs), encoded(lineage)];
      // The function returns nothing else.
      return (await call(schema.complete, values, storeCall)) as CompleteResult;
    },

    async release(key, { token, retainMs, lineage, to }, storeCall) {
      const owner = encoded(token);
      if (finished.delete(runOf(key, owner))) return false;
      const values = [uuid(key), owner, String(retainMs), encoded(lineage), to];
      return (await call(schema.release, values, storeCall)) === "1";
    },

    async extend(key, { token, leaseMs }, storeCall) {
      const owner = encoded(token);
      const isExtended =
        (await call(schema.extend, [uuid(key), owner, String(leaseMs)], storeCall)) === "1";
      // Its transaction may have been committed meanwhile. The run still owns what it did.
      return isExtended || finished.has(runOf(key, owner));
    },

    forget: async (key, storeCall) => (await call(schema.forget, [uuid(key)], storeCall)) === "1",

    async transaction(context, work) {
      const { text, values } = finish(context);
      if (typeof work !== "function") {
        throw new ReceiverConfigError(
          "invalid_option",
          "work",
          "`work` must be a function: store.transaction(context, (tx) => …).",
        );
      }
      const run = values.join(" ");
      const idleMs = idleTimeoutMs || 30_000;
      let finishing = "";
      let isMarked = false;
      const result = database.transaction(
        async (tx, query) => {
          const effects = await rejecting(explainedWork, () => work(tx));
          // `work` may have ended the transaction: then its setting is gone, and nothing is completed.
          const unlessEnded = " where current_setting('svc_webhooks.run', true) = $3::text";
          const rows = await rejecting(explainedCall, () =>
            isMarked ? query(text + unlessEnded, [...values, run]) : query(text, values),
          );
          if (rows.length === 0) throw endedByWork();
          finishing = runOf(context.idempotencyKey, replyOf(rows));
          // Before the commit: the reply to a concurrent `extend` may arrive first.
          finished.add(finishing);
          // Completions of another store do not arrive here.
          if (finished.size > 10_000) finished.delete(String(finished.values().next().value));
          return effects;
        },
        {
          get first() {
            isMarked = true;
            return firstStatement(idleMs, run);
          },
          idleTimeoutMs: idleMs,
        },
      );
      open.set(context.idempotencyKey, result);
      try {
        return await result;
      } catch (error) {
        finished.delete(finishing);
        throw error;
      } finally {
        if (open.get(context.idempotencyKey) === result) open.delete(context.idempotencyKey);
      }
    },

    finish,

    async purge(purgeOptions = {}) {
      assertOptions(purgeOptions, ["limit"]);
      const { limit = 1_000 } = purgeOptions;
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000_000) {
        throw new ReceiverConfigError(
          "invalid_option",
          "limit",
          "`limit` must be a whole number from 1 to 1,000,000.",
        );
      }
      return Number(await call(schema.purge, [String(limit)]));
    },

    check: (storeCall) => checkServer(database, schema, storeCall),
  };
}

/** Runs a step, whose error becomes another one. */
async function rejecting<Result>(
  as: (error: unknown) => unknown,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw as(error);
  }
}

const notAContext = () =>
  new ReceiverConfigError(
    "invalid_option",
    "context",
    "Pass the handler's own `context`, not a copy of it: store.transaction(context, (tx) => …).",
  );

/**
 * Awaits a transaction that its handler did not, so that nothing is completed without it. If it has
 * failed, Node ends the process for its unhandled rejection before the sender gets a 200.
 */
async function endOf(transaction: Promise<unknown> | undefined): Promise<void> {
  try {
    await transaction;
  } catch (error) {
    await nextTurn();
    throw error;
  }
}

const endedByWork = () =>
  new WebhookError(
    "transaction_ended",
    "`work` has ended its transaction with `commit` or `rollback`. What it committed stays, and the delivery is not completed. Let `transaction` end it: resolve to commit, reject to roll back.",
  );

/** Of a call that fails because another one changed the record. */
const attempts = 10;

/** The key of the record. Receivers' keys are 32 hex digits; others are hashed to that. */
function uuid(key: string): string {
  if (/^[0-9a-f]{32}$/.test(key)) return key;
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}

const runOf = (key: string, owner: string): string => `${key} ${owner}`;

/** A text of PostgreSQL cannot contain NUL. Receivers' tokens and lineages are unchanged. */
const encoded = (text = ""): string => (/^[\w-]*$/.test(text) ? text : JSON.stringify(text));

const decoded = (text: string): string =>
  text.startsWith('"') ? (JSON.parse(text) as string) : text;

function claimResult(reply: string): ClaimResult {
  const rest = reply.slice(1);
  switch (reply.charAt(0)) {
    case "c": {
      const [fence, run] = rest.split(" ");
      return { status: "claimed", fence: Number(fence), run: Number(run) };
    }
    case "b":
      return { status: "busy", leaseLeftMs: Number(rest) };
    case "d":
      return { status: "done", lineage: decoded(rest) || undefined };
    case "p":
      return { status: "parked", lineage: decoded(rest) || undefined };
    default:
      throw new Error(`PostgreSQL returned ${JSON.stringify(reply.slice(0, 50))} for a claim.`);
  }
}
