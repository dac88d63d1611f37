import { WebhookError } from "@svc-webhooks/core";
import { limitIdle, type Database, type Query, type Row } from "../database.js";

/** The members of `sql` of postgres.js 3 that the store uses. */
export interface PostgresJs {
  readonly options: { readonly prepare?: boolean | undefined };
  unsafe: PostgresJsUnsafe;
  // oxlint-disable-next-line typescript/no-explicit-any -- its two overloads, for any transaction
  begin(work: (tx: any) => any): Promise<any>;
}

type PostgresJsUnsafe = (
  text: string,
  values?: string[],
  options?: { prepare?: boolean },
) => PostgresJsQuery;

interface PostgresJsQuery extends PromiseLike<readonly unknown[]> {
  cancel(): unknown;
}

/** Its types omit the connection that a query was sent on. */
const wasSent = (query: PostgresJsQuery & { readonly state?: unknown }): boolean =>
  Boolean(query.state);

/** What `sql.begin` passes to its function. It also has an overload with options. */
export type TxOf<Sql> = Sql extends {
  begin: {
    // oxlint-disable-next-line typescript/no-explicit-any -- matches any function
    (work: (tx: infer Tx) => any): any;
    // oxlint-disable-next-line typescript/no-explicit-any
    (options: string, work: any): any;
  };
}
  ? Tx
  : never;

export function overPostgresJs<Sql extends PostgresJs>(sql: Sql): Database<TxOf<Sql>> {
  // With `prepare: false`, for PgBouncer, the user does not want named statements.
  const options = { prepare: sql.options.prepare !== false };
  const queryOver =
    (on: Pick<PostgresJs, "unsafe">): Query =>
    async (text, values, call) => {
      const query = on.unsafe(text, [...values], values.length > 0 ? options : {});
      const cancel = () => {
        // It waits for a connection: one that was sent is left to end.
        if (!wasSent(query)) query.cancel();
      };
      call?.signal.addEventListener("abort", cancel);
      try {
        return (await query) as readonly Row[];
      } catch (error) {
        if (wasSent(query)) throw error;
        throw new WebhookError("not_sent", `No connection to PostgreSQL: ${String(error)}`, {
          cause: error,
        });
      } finally {
        call?.signal.removeEventListener("abort", cancel);
      }
    };

  return {
    query: queryOver(sql),
    transaction: (work, transaction) =>
      sql.begin(async (tx: TxOf<Sql> & Pick<PostgresJs, "unsafe">) => {
        // Sent together with the first statement of `work`.
        const limited = tx.unsafe(limitIdle(transaction));
        limited.then(undefined, () => {});
        return work(tx, queryOver(tx));
      }),
  };
}
