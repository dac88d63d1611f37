import { limitIdle, type Database, type Query, type Row } from "../database.js";

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
 */
export function fromDrizzle<Tx extends DrizzleQueries<Sql>, Sql>(
  db: Drizzle<Tx, Sql>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Sql,
): Database<Tx> {
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
  return {
    query: queryOver(db),
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const query = queryOver(tx);
        await query(limitIdle(options), []);
        return work(tx, query);
      }),
  };
}
