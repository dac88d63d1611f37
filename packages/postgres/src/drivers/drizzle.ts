import {
  assertCommitted,
  assertMethod,
  plain,
  replyOf,
  type Database,
  type Query,
  type Row,
} from "../database.js";
import { driverOf, invalid } from "../connect.js";
import { guardClient, type PgClient } from "./node-postgres.js";
import { guardTx } from "./postgres-js.js";

/** The members of Drizzle's PostgreSQL databases that the store uses. */
export interface Drizzle<Tx extends DrizzleQueries<Sql>, Sql> extends DrizzleQueries<Sql> {
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
}

export interface DrizzleQueries<Sql> {
  execute(query: Sql): PromiseLike<unknown>;
}

/** The part of a Drizzle database that sends its statements. Drizzle's types omit it. */
interface Session<Tx> {
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
}

/**
 * Wraps Drizzle on PostgreSQL, with any driver that supports interactive transactions. With pg and postgres.js, the
 * store sends its own statements directly through the driver, so Drizzle does not log them.
 *
 * @param sql from the `drizzle-orm` package
 * @throws ConfigError `invalid_option`: `db` is not a Drizzle database, is a transaction, or uses a single
 *   connection
 *
 * @example
 * ```ts
 * import { fromDrizzle, postgresStore } from "svc-webhooks/postgres";
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
  const usage = "`fromDrizzle(db, sql)` requires a Drizzle database and `sql` from drizzle-orm.";
  assertMethod(db, "execute", usage);
  assertMethod(sql, "raw", usage);
  if ("rollback" in db) {
    throw invalid(
      "`db` is a Drizzle transaction, and the store cannot begin another transaction inside it. Pass the database itself.",
    );
  }
  const { $client, session } = db as { readonly $client?: unknown; readonly session?: Session<Tx> };
  const driver = driverOf($client);
  if (!driver || !session) return overAnyDriver(db, sql);
  return {
    ...driver,
    transaction: (work, options) =>
      driver.transaction((client, query, mark) => {
        let isInside = false;
        const guarded =
          "unsafe" in (client as object)
            ? guardTx(client)
            : guardClient(client as PgClient, () => isInside);
        // The session's transaction runs inside the one that is open on `client`: its own `begin`, `commit` and
        // `rollback` are not sent.
        const guardedSession = Object.create(session, {
          client: { value: guarded },
        }) as typeof session;
        return guardedSession.transaction(async (tx) => {
          isInside = true;
          try {
            return await work(tx, query, mark);
          } finally {
            isInside = false;
          }
        });
      }, options),
  };
}

/** Wraps a Drizzle database whose driver does not give the store access to its connections. */
function overAnyDriver<Tx extends DrizzleQueries<Sql>, Sql>(
  db: Drizzle<Tx, Sql>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Sql,
): Database<Tx> {
  const queryOver =
    (on: DrizzleQueries<Sql>): Query =>
    async (text, values) => {
      // `split` alternates SQL text with placeholder numbers: even indexes are text, odd ones are numbers.
      const parts = text.split(/\$(\d+)/);
      const strings = parts.filter((_part, index) => index % 2 === 0);
      const numbers = parts.filter((_part, index) => index % 2 === 1);
      const result = await on.execute(
        sql(
          strings as unknown as TemplateStringsArray,
          ...numbers.map((number) => values[Number(number) - 1]),
        ),
      );
      // Some drivers return the rows themselves; others return an object with a `rows` property.
      return Array.isArray(result) ? result : (result as { readonly rows: readonly Row[] }).rows;
    };
  return {
    query: queryOver(db),
    async transaction(work, { first, begun, mark } = plain) {
      let id = "";
      const result = await db.transaction(async (tx) => {
        const query = queryOver(tx);
        const rows = await query(first, []);
        begun?.(rows);
        id = replyOf(rows);
        return work(tx, query, mark);
      });
      await assertCommitted(queryOver(db), id);
      return result;
    },
  };
}
