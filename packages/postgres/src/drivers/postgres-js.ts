import {
  assertCommitted,
  plain,
  replyOf,
  type Database,
  type Query,
  type Row,
  type TransactionOptions,
} from "../database.js";
import { notSent } from "../errors.js";
import { closing, nextTurn, outliving, refuse, unlessLate, type Gate } from "./gate.js";

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
        throw notSent(error);
      } finally {
        call?.signal.removeEventListener("abort", cancel);
      }
    };

  return {
    query: queryOver(sql),
    async transaction<Result>(
      work: (tx: TxOf<Sql>, query: Query) => Promise<Result>,
      { first }: TransactionOptions = plain,
    ): Promise<Result> {
      let begun: PromiseLike<readonly unknown[]> = Promise.resolve([]);
      const result = await outliving<PostgresJsTx, Result>(
        (run) => sql.begin(run),
        async (tx, gate) => {
          // Sent together with the first statement of `work`.
          begun = tx.unsafe(first);
          begun.then(undefined, () => {});
          const own = guardedTx(tx, gate, () => !gate.isLost);
          const query: Query = async (text, values) =>
            (await own.unsafe(text, [...values], options)) as readonly Row[];
          return work(guardedTx(tx, gate) as TxOf<Sql>, closing(gate, query));
        },
      );
      await assertCommitted(queryOver(sql), replyOf((await begun) as readonly Row[]));
      return result;
    },
  };
}

/** The members of a transaction of postgres.js whose statements are guarded. It is a tag too. */
export interface PostgresJsTx {
  unsafe: PostgresJsUnsafe;
  file?(...args: unknown[]): PostgresJsQuery;
  savepoint?(...args: unknown[]): Promise<unknown>;
}

/**
 * A transaction that sends no statement once the gate is closed. postgres.js itself would send it on the
 * connection's successor, outside of any transaction, or throw an error that ends the process.
 */
export function guardedTx<Tx extends PostgresJsTx>(
  tx: Tx,
  gate: Gate,
  mayRun: () => boolean = () => gate.isOpen && !gate.isLost,
): Tx {
  let hasFailed = false;
  /** Fragments and identifiers are not queries. */
  const guarded = <Result>(result: Result): Result => {
    const query = result as { handler?: unknown } & PromiseLike<unknown> & {
        reject(error: unknown): void;
      };
    if (typeof query?.handler !== "function") return result;
    const send = query.handler as (query: unknown) => void;
    // Called when the query is awaited.
    query.handler = async () => {
      // The connection may have been lost: its event comes after the error of the statement.
      if (hasFailed) await nextTurn();
      if (!mayRun()) return query.reject(refuse(gate));
      send(query);
      query.then(undefined, () => (hasFailed = true));
    };
    return result;
  };
  return new Proxy(tx, {
    apply: (target, _this, args: unknown[]) =>
      guarded((target as unknown as (...given: unknown[]) => unknown)(...args)),
    get(target, member) {
      if (member === "unsafe" || member === "file") {
        const method = target[member] as (...given: unknown[]) => unknown;
        return (...args: unknown[]) => guarded(method(...args));
      }
      if (member === "savepoint") {
        return async (...args: unknown[]) => {
          if (!mayRun()) throw refuse(gate);
          const work = args.pop();
          if (typeof work !== "function") throw new TypeError("`savepoint` needs a function.");
          return target.savepoint?.(...args, (nested: Tx) =>
            unlessLate(
              () => {
                const result: unknown = work(guardedTx(nested, gate, mayRun));
                return Array.isArray(result) ? Promise.all(result) : result;
              },
              () => !mayRun(),
            ),
          );
        };
      }
      return Reflect.get(target, member) as unknown;
    },
  });
}
