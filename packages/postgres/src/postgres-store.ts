import type { CompleteResult, DeliveryStore, StoreCall } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { readClaim, readStates } from "@svc-webhooks/core/store-rules";
import { createCalls } from "./store/calls.js";
import { checkServer } from "./schema/check.js";
import { connect, type PostgresClient } from "./connect.js";
import { unexpected, withStatus, type Database } from "./database.js";
import type { ClientOf, PgPool } from "./drivers/node-postgres.js";
import type { PostgresJs, TxOf } from "./drivers/postgres-js.js";
import type { RunIdentity, Statement } from "./run-identity.js";
import { notAwaited } from "./errors.js";
import { schemaOf } from "./schema/schema.js";
import { createTransactions, extendRun } from "./store/transactions.js";
import { decoded, encoded, uuid } from "./store/wire.js";

export interface PostgresStoreOptions {
  /**
   * The schema that contains the store's tables and functions: 1 to 63 characters from `a-z`, `0-9` and `_`, not
   * starting with a digit or `pg_`, and not `information_schema`. Default `"svc_webhooks"`. Errors: `invalid_option`.
   */
  readonly schema?: string | undefined;
  /**
   * Whether a claim waits until the server has written it to disk, as completions do unless `synchronous_commit` is
   * off. Default false: a server crash can lose a claim, so that a second run starts. `transaction` then commits only
   * one of the two runs. Set the option to true if your handlers do not use `transaction`. Errors: `invalid_option`.
   */
  readonly durableClaims?: boolean | undefined;
  /**
   * Whether the store, with pg, sends its statements outside of transactions as named statements, which the server
   * parses only once per connection. Set the option to true for direct connections, for a pooler in session mode, and
   * for PgBouncer 1.21 or newer with `max_prepared_statements`. If a connection loses a name, the store repeats the
   * call without one, and no longer uses names on that connection. postgres.js names the statements anyway unless the
   * store finds a pooler, so there the option only makes `check` report a pooler. Any other `db` is refused.
   * Default false. Errors: `invalid_option`.
   */
  readonly prepare?: boolean | undefined;
}

export interface PostgresStore<Tx> extends DeliveryStore {
  /**
   * Runs `work` in a transaction that also completes the delivery. The writes of `work` and the completion are
   * committed together or not at all, so the writes happen exactly once. Call `transaction` once per run, as the last
   * step of a handler, and return or await its promise. If the promise is still pending when the handler ends, or has
   * rejected without being awaited, the run fails (`handler_failed`), but the process keeps running. Do slow or remote
   * work beforehand. `work` must use `tx` for everything that belongs to the transaction, and must not use the pool.
   *
   * @returns the result of `work`, once the transaction is committed
   * @throws TransactionLostError `transaction_lost`: this run no longer owns the delivery. Nothing was written; let the
   *   handler reject with it
   * @throws TypeError `not_claimed`: the context has no fence, because the store was unavailable and `onStoreError` is
   *   `"process"`
   * @throws WebhookError `transaction_ended`: `work` ended the transaction itself, did not await a statement, or sent
   *   one after the end; `transaction_aborted`: a statement failed, and `work` caught its error or did not await it;
   *   `pool_timeout`: `work` waited for another connection of the pool until the pool's timeout; `not_sent`: there was
   *   no connection for the transaction; `no_reply`: the transaction did not begin within 5 s, the server did not
   *   confirm its end within one lease, or the lease ended or the server rolled the transaction back during `work`;
   *   `schema_missing`, `permission_denied`, `read_only`
   * @throws ConfigError `invalid_option`: `context` is not a handler's own context, or `work` is not a function
   * @throws the error of `work`, or the error of the database at the commit. Nothing was written, unless the connection
   *   was lost during the commit: then the commit may have succeeded, which the next attempt detects
   */
  transaction<Result>(context: RunIdentity, work: (tx: Tx) => Promise<Result>): Promise<Result>;

  /**
   * Returns the statement that completes the delivery in a transaction that you have begun yourself. Run it last,
   * before the commit. If this run no longer owns the delivery, the statement fails with SQLSTATE `SVC01`, so that
   * nothing in your transaction can be committed.
   *
   * @throws TypeError `not_claimed`; ConfigError `invalid_option`: as for `transaction`
   */
  finish(context: RunIdentity): Statement;

  /**
   * Removes up to `limit` (1 … 1,000,000, default 1,000) records that expired before the current hour, and resolves to
   * their number. Claims remove such records too, so no cleanup job is necessary.
   *
   * @throws ConfigError `invalid_option`, `unknown_option`
   */
  purge(options?: { readonly limit?: number | undefined }): Promise<number>;

  /**
   * Resolves to one text for each condition that endangers records or transactions: a missing or unsafe schema, missing
   * privileges, a server that rejects writes, unsafe durability settings, clock drift, unsafe settings of the client.
   * Resolves to an empty list if there is none.
   */
  check(call?: StoreCall): Promise<readonly string[]>;
}

/**
 * Keeps records in PostgreSQL 12 or newer (tested: 12 to 18), shared by all processes that use the same schema. Each of
 * the receiver's calls is one statement and uses the server's clock. The store works behind PgBouncer in transaction
 * mode. You own the client: you create and close it. Create the schema first, with `migrate(db)` or the package's
 * `schema.sql`.
 *
 * With {@link PostgresStore.transaction}, a handler's writes to the same database happen exactly once.
 *
 * @param db a `Pool` of pg, the `sql` of postgres.js (created with `closableSockets`), or a `Database`: the result of
 *   `fromDrizzle`, `fromKysely` or `fromPglite`, or your own
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 * import { postgresStore } from "svc-webhooks/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ max: 10, connectionTimeoutMillis: 1_000 });
 * const store = postgresStore(pool);
 *
 * export const receiver = createReceiver({
 *   name: "billing",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
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
  assertOptions(options, ["schema", "durableClaims", "prepare"]);
  const { durableClaims = false, prepare = false } = options;
  for (const [name, value] of Object.entries({ durableClaims, prepare })) {
    assertValid(typeof value === "boolean", name, `\`${name}\` must be a boolean.`);
  }
  const schema = schemaOf(options.schema);
  const database = connect(db, prepare);
  const { call, assertNotCongested, explainedCall } = createCalls(database, schema);
  const transactions = createTransactions(database, schema, explainedCall);

  return {
    shared: true,

    async claim(key, { token, leaseMs, retainMs, lineage, takeParked }, storeCall) {
      assertNotCongested();
      transactions.noteLease(leaseMs);
      const values = [
        uuid(key),
        encoded(token),
        String(leaseMs),
        String(retainMs),
        encoded(lineage),
        takeParked ? "1" : "",
        durableClaims ? "1" : "",
      ];
      const result = readClaim(await call(schema.claim, values, storeCall), unexpected, decoded);
      if (result.status === "claimed") transactions.addRun(key, encoded(token), result.fence);
      return result;
    },

    async complete(key, { token, retainMs, lineage }, storeCall) {
      const owner = encoded(token);
      for (const { own } of transactions.runOf(key, owner)?.transactions ?? []) {
        const { failure, isAwaited } = own();
        if (!failure || !isAwaited) throw notAwaited(failure);
      }
      if (transactions.endRun(key, owner)) return "owner";
      const values = [uuid(key), owner, String(retainMs), encoded(lineage)];
      // The cast is safe, because the function in the database returns no other value.
      return (await call(schema.complete, values, storeCall)) as CompleteResult;
    },

    async release(key, { token, retainMs, lineage, to }, storeCall) {
      const owner = encoded(token);
      if (transactions.endRun(key, owner)) return false;
      const values = [uuid(key), owner, String(retainMs), encoded(lineage), to];
      return (await call(schema.release, values, storeCall)) === "1";
    },

    async extend(key, { token, leaseMs }, storeCall) {
      const owner = encoded(token);
      const run = transactions.runOf(key, owner);
      const values = [uuid(key), owner, String(leaseMs)];
      return extendRun(run, (id) =>
        call(
          id ? withStatus(schema.extend) : schema.extend,
          id ? [...values, id] : values,
          storeCall,
        ),
      );
    },

    forget: async (key, storeCall) => (await call(schema.forget, [uuid(key)], storeCall)) === "1",

    peek: async (keys, storeCall) =>
      readStates(
        await call(schema.peek, [keys.map(uuid).join(",")], storeCall),
        keys.length,
        unexpected,
      ),

    transaction: transactions.begin,
    finish: transactions.finish,

    async purge(purgeOptions = {}) {
      assertOptions(purgeOptions, ["limit"]);
      const { limit = 1_000 } = purgeOptions;
      assertValid(
        Number.isSafeInteger(limit) && limit >= 1 && limit <= 1_000_000,
        "limit",
        "`limit` must be a whole number from 1 to 1,000,000.",
      );
      return Number(await call(schema.purge, [String(limit)]));
    },

    check: (storeCall) => checkServer(database, schema, storeCall),
  };
}
