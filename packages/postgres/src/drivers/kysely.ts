import { driverOf, invalid } from "../connect.js";
import {
  assertCommitted,
  assertMethod,
  plain,
  replyOf,
  type Database,
  type Query,
  type Row,
} from "../database.js";
import { closing, newGate, nextTurn, refuse, unlessRefused } from "./gate.js";
import { beginningIn, closeClient, type PgPool } from "./node-postgres.js";

/** The members of Kysely that the store uses. */
export interface Kysely<
  Tx extends KyselyQueries<Compiled>,
  Compiled,
> extends KyselyQueries<Compiled> {
  transaction(): {
    execute<Result>(work: (tx: Tx & Pluggable) => Promise<Result>): Promise<Result>;
  };
}

export interface KyselyQueries<Compiled> {
  executeQuery(query: Compiled): Promise<{ readonly rows: readonly unknown[] }>;
}

interface Pluggable {
  withPlugin(plugin: object): unknown;
}

/**
 * Wraps Kysely on PostgreSQL. Without `pool`, the store cannot close connections that have stopped responding, and a
 * lost connection can crash the process, because Kysely does not listen for the connection's error.
 *
 * @param CompiledQuery from the `kysely` package
 * @param pool the pool of Kysely's dialect, if the dialect uses pg. The store sends its own statements through the
 *   pool, except those in a transaction
 * @throws ConfigError `invalid_option`: `db` is not a Kysely instance or is a transaction, or `pool` is a single
 *   connection. `transaction` rejects with the same error if Kysely has only one connection
 *
 * @example
 * ```ts
 * import { fromKysely, postgresStore } from "svc-webhooks/postgres";
 * import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionTimeoutMillis: 1_000 });
 * const db = new Kysely<{ contacts: { id: string } }>({ dialect: new PostgresDialect({ pool }) });
 *
 * export const store = postgresStore(fromKysely(db, CompiledQuery, pool));
 * ```
 */
export function fromKysely<Tx extends KyselyQueries<Compiled>, Compiled>(
  db: Kysely<Tx, Compiled>,
  CompiledQuery: { raw(text: string, values?: unknown[]): Compiled },
  pool?: PgPool,
): Database<Tx> {
  const usage =
    "`fromKysely(db, CompiledQuery, pool)` requires a Kysely instance, `CompiledQuery` from kysely and, if you use pg, the pool.";
  assertMethod(db, "executeQuery", usage);
  assertMethod(CompiledQuery, "raw", usage);
  if ("isTransaction" in db && db.isTransaction) {
    throw invalid(
      "`db` is a Kysely transaction, and the store cannot begin another transaction inside it. Pass the Kysely instance itself.",
    );
  }
  const queryOver =
    (on: KyselyQueries<Compiled>): Query =>
    async (text, values) =>
      (await on.executeQuery(CompiledQuery.raw(text, [...values]))).rows as readonly Row[];
  const driver = pool && driverOf(pool);
  let hasOwnConnections = false;
  const query = driver?.query ?? queryOver(db);
  return {
    problems: () => [
      "Kysely does not expose its connections, so the store cannot close connections that have stopped responding. With pg, pass the pool too: fromKysely(db, CompiledQuery, pool).",
    ],
    ...driver,
    query,
    async transaction(work, { first, begun, mark, signal } = plain) {
      let id = "";
      let close = pool ? beginningIn(pool) : () => {};
      signal?.addEventListener("abort", () => close());
      const result = await db.transaction().execute(async (tx) => {
        const queryIn = queryOver(tx);
        const reply = await queryIn(first, []);
        begun?.(reply);
        id = replyOf(reply);
        const pid = reply[0]?.["pid"];
        // The default `first` statement returns no PID, so nothing can be compared.
        if (pid !== undefined && !hasOwnConnections) {
          await assertOwnConnection(queryOver(db), queryIn, pid);
          hasOwnConnections = true;
        }
        close = () => pool && closeClient(pool, pid);
        const gate = newGate();
        // Rejects statements once the gate is closed. After the end of the transaction, Kysely itself rejects them.
        const guard = {
          transformQuery<Node>({ node }: { readonly node: Node }): Node {
            if (!gate.isOpen) throw refuse(gate);
            return node;
          },
          transformResult: async <Rows>(rows: { readonly result: Rows }) => rows.result,
        };
        return unlessRefused(gate, work(tx.withPlugin(guard) as Tx, closing(gate, queryIn), mark));
      });
      // The guard does not apply to statements that were compiled earlier, so this checks that the transaction was
      // committed.
      await assertCommitted(query, id);
      return result;
    },
  };
}

/**
 * Rejects if statements from outside the transaction use its connection, because other transactions would begin on it
 * too. Sends a probe from outside, then a statement inside: a shared connection replies to the probe first.
 */
async function assertOwnConnection(outside: Query, inside: Query, pid: unknown): Promise<void> {
  let isShared = false;
  const probe = async () => {
    const rows = await outside("select pg_catalog.pg_backend_pid()::pg_catalog.text as reply", []);
    isShared = replyOf(rows) === String(pid);
  };
  // Does not await the probe: if the pool has no other connection, the probe completes only after the transaction.
  probe().catch(() => {});
  await nextTurn();
  await inside("select 1", []);
  if (!isShared) return;
  throw invalid(
    "`db` is a Kysely instance with a single connection, so all transactions would share it. Give its dialect a pool.",
  );
}
