import type { StoreCall } from "@svc-webhooks/core";

/** A row as drivers return it. The store reads one column, `reply`, which is a text. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement, with `$1`, `$2`, … for the values, and resolves to its rows. Rejects with the
 * database's error, or an error whose `cause` is it. Must not be part of anybody's transaction.
 *
 * @param call given by the receiver: stop waiting for a connection when its signal is aborted. Throw a
 *   `WebhookError` `not_sent` if the statement has not left the process
 */
export type Query = (
  text: string,
  values: readonly string[],
  call?: StoreCall,
) => Promise<readonly Row[]>;

/** What the store needs of a driver or a query builder. `Tx` is what your code gets in a transaction. */
export interface Database<Tx> {
  readonly query: Query;
  /**
   * Begins a transaction, runs `work`, and commits if it resolves or rolls back if it rejects. `query`
   * runs in that transaction. After a lost connection, nothing else may use it.
   */
  transaction<Result>(
    work: (tx: Tx, query: Query) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result>;
  /** For `check()`: problems of the client's settings, one sentence each. */
  problems?(): readonly string[];
}

export interface TransactionOptions {
  /**
   * The server should end the transaction if it gets no statement for this long, in milliseconds: a
   * frozen process must not keep rows locked.
   */
  readonly idleTimeoutMs: number;
}

/** For drivers whose `begin` takes no settings. */
export const limitIdle = ({ idleTimeoutMs }: TransactionOptions): string =>
  `set local idle_in_transaction_session_timeout = ${Math.ceil(idleTimeoutMs)}`;
