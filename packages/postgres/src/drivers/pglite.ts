import { assertMethod, plain, queryOver, type Database } from "../database.js";

/** The members of PGlite that the store uses. */
export interface Pglite<Tx extends PgliteQueries = PgliteQueries> extends PgliteQueries {
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
}

export interface PgliteQueries {
  query(text: string, values?: string[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * Wraps PGlite, which runs PostgreSQL in the current process, for tests and single-process applications. PGlite has one
 * connection: a statement outside a transaction waits until the transaction ends, so a transaction that awaits such a
 * statement waits forever.
 *
 * @example
 * ```ts
 * import { PGlite } from "@electric-sql/pglite";
 * import { fromPglite, postgresStore } from "svc-webhooks/postgres";
 *
 * export const store = postgresStore(fromPglite(new PGlite()));
 * ```
 */
export function fromPglite<Tx extends PgliteQueries>(db: Pglite<Tx>): Database<Tx> {
  assertMethod(db, "transaction", "`fromPglite(db)` requires a PGlite instance.");
  return {
    query: queryOver(db),
    async transaction(work, { first, begun, mark } = plain) {
      return db.transaction(async (tx) => {
        const query = queryOver(tx);
        begun?.(await query(first, []));
        return work(tx, query, mark);
      });
    },
  };
}
