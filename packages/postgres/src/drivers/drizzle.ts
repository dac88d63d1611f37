import {
  assertCommitted,
  assertMethod,
  plain,
  replyOf,
  type Database,
  type Query,
  type Row,
  type TransactionOptions,
} from "../database.js";
import { closing, outliving, type Gate } from "./gate.js";
import { guardedClient, survive, type PgClient, type PgPool } from "./node-postgres.js";
import { guardedTx, type PostgresJsTx } from "./postgres-js.js";

/** The members of Drizzle's PostgreSQL databases that the store uses. */
export interface Drizzle<Tx extends DrizzleQueries<Sql>, Sql> extends DrizzleQueries<Sql> {
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
}

export interface DrizzleQueries<Sql> {
  execute(query: Sql): PromiseLike<unknown>;
}

/**
 * Drizzle on PostgreSQL, over any of its drivers that has interactive transactions.
 *
 * @param sql of the `drizzle-orm` package
 * @throws ReceiverConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import { fromDrizzle, postgresStore } from "@svc-webhooks/postgres";
 * import { sql } from "drizzle-orm";
 * import { drizzle } from "drizzle-orm/node-postgres";
 * import { Pool } from "pg";
 *
 * const db = drizzle(new Pool({ connectionTimeoutMillis: 1_000 }));
 *
 * export const store = postgresStore(fromDrizzle(db, sql));
 * ```
 */
export function fromDrizzle<Tx extends DrizzleQueries<Sql>, Sql>(
  db: Drizzle<Tx, Sql>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Sql,
): Database<Tx> {
  const usage = "`fromDrizzle(db, sql)` takes a Drizzle database and the `sql` of drizzle-orm.";
  assertMethod(db, "execute", usage);
  assertMethod(sql, "raw", usage);
  const queryOver =
    (on: DrizzleQueries<Sql>): Query =>
    async (text, values) => {
      // Texts, and between them the numbers of the values.
      const parts = text.split(/\$(\d+)/);
      const strings = parts.filter((_part, index) => index % 2 === 0);
      const numbers = parts.filter((_part, index) => index % 2 === 1);
      const result = await on.execute(
        sql(
          strings as unknown as TemplateStringsArray,
          ...numbers.map((number) => values[Number(number) - 1]),
        ),
      );
      // postgres.js returns the rows, all other drivers an object that has them.
      return Array.isArray(result) ? result : (result as { readonly rows: readonly Row[] }).rows;
    };
  const { $client } = db as { readonly $client?: unknown };
  if (isPool($client)) $client.on("connect", survive);
  return {
    query: queryOver(db),
    async transaction<Result>(
      work: (tx: Tx, query: Query) => Promise<Result>,
      { first }: TransactionOptions = plain,
    ): Promise<Result> {
      let id = "";
      const result = await outliving<Tx, Result>(
        (run) => db.transaction(run),
        async (tx, gate) => {
          const query = queryOver(tx);
          id = replyOf(await query(first, []));
          const unguarded = guard(tx, gate);
          return work(
            tx,
            closing(gate, (...args) => unguarded(() => query(...args))),
          );
        },
      );
      await assertCommitted(queryOver(db), id);
      return result;
    },
  };
}

const isPool = (client: unknown): client is PgPool =>
  typeof client === "object" && client !== null && "totalCount" in client;

/**
 * Guards the statements of a transaction, except those that the returned function sends. Drizzle's types
 * omit the session, through which it sends them.
 */
function guard(tx: object, gate: Gate): <Result>(send: () => Result) => Result {
  const session = (tx as { readonly session?: { client: object } }).session;
  const client = session?.client;
  if (!client) return (send) => send();
  let [others, own] = [client, client];
  if ("unsafe" in client) {
    others = guardedTx(client as PostgresJsTx, gate);
    own = guardedTx(client as PostgresJsTx, gate, () => !gate.isLost);
  } else if ("release" in client) {
    const pgClient = client as PgClient;
    survive(pgClient);
    // Drizzle ends the transaction through the same session.
    const mayRun = (statement: unknown) => gate.isOpen || isEnd(statement);
    others = guardedClient(pgClient, mayRun, gate, () => pgClient.release());
  }
  session.client = others;
  return (send) => {
    session.client = own;
    try {
      return send();
    } finally {
      session.client = others;
    }
  };
}

const isEnd = (statement: unknown): boolean =>
  /^(commit|rollback)$/.test((statement as { readonly text?: string } | undefined)?.text ?? "");
