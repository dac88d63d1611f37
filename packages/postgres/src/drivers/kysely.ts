import { limitIdle, type Database, type Query, type Row } from "../database.js";

/** The members of Kysely that the store uses. */
export interface Kysely<
  Tx extends KyselyQueries<Compiled>,
  Compiled,
> extends KyselyQueries<Compiled> {
  transaction(): {
    execute<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
  };
}

export interface KyselyQueries<Compiled> {
  executeQuery(query: Compiled): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * Kysely on PostgreSQL.
 *
 * @param CompiledQuery of the `kysely` package
 */
export function fromKysely<Tx extends KyselyQueries<Compiled>, Compiled>(
  db: Kysely<Tx, Compiled>,
  CompiledQuery: { raw(text: string, values?: unknown[]): Compiled },
): Database<Tx> {
  const queryOver =
    (on: KyselyQueries<Compiled>): Query =>
    async (text, values) =>
      (await on.executeQuery(CompiledQuery.raw(text, [...values]))).rows as readonly Row[];
  return {
    query: queryOver(db),
    transaction: (work, options) =>
      db.transaction().execute(async (tx) => {
        const query = queryOver(tx);
        await query(limitIdle(options), []);
        return work(tx, query);
      }),
  };
}
