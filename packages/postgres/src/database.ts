import { WebhookError, type StoreCall } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";

/** A row as drivers return it. The store reads the first column, `reply`, which is text. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement, in which `$1`, `$2`, … stand for the values, and resolves to its rows. Rejects with the
 * database's error, or with an error whose `cause` is that error. Must not run inside another transaction.
 *
 * @param call passed by the receiver; undefined for calls of the application. When its signal is aborted, stop waiting
 *   for a connection and throw a `WebhookError` `not_sent`. If the statement was sent already, close its connection
 *   instead
 */
export type Query = (
  text: string,
  values: readonly string[],
  call?: StoreCall,
) => Promise<readonly Row[]>;

/**
 * Returns a value of the first row as text, by default that of the first column, `reply`. Finds the column by its
 * position, because the client may be set to rename columns, or to wrap rows and values in objects.
 */
export function replyOf(rows: unknown, column = 0): string {
  let value = rows;
  // oxlint-disable-next-line unicorn/no-instanceof-builtins -- type parsers run in this realm
  while (Object(value) === value && !(value instanceof String)) {
    const values = Object.values(value as object) as unknown[];
    value = values[column] ?? values[0];
  }
  return String(value);
}

/** Returns the error for a reply that the client has probably changed. */
export const unexpected = (call: string, reply: string): Error =>
  new Error(
    `PostgreSQL returned an unexpected reply to ${call}: ${JSON.stringify(reply.slice(0, 50))}. If the client transforms values, pass another client.`,
  );

/**
 * Parses a reply that consists of the letter `f` and JSON. Without the letter, some clients would parse the JSON
 * themselves.
 */
export function factsOf(rows: unknown): unknown {
  const reply = replyOf(rows);
  if (!reply.startsWith("f{")) throw unexpected("a check", reply);
  return JSON.parse(reply.slice(1));
}

/** A client of pg, or another client with the same `query` method. */
export interface Client {
  query(text: string, values?: string[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export const queryOver =
  (client: Client): Query =>
  async (text, values) =>
    (await client.query(text, [...values])).rows as readonly Row[];

/**
 * The part of a driver or a query builder that the store needs. `Tx` is the type of the transaction that `work`
 * receives.
 */
export interface Database<Tx> {
  readonly query: Query;
  /**
   * Begins a transaction and runs `work`. Commits if `work` resolves, and rolls back if it rejects. Rejects if the
   * commit did not take effect. The `query` that `work` receives runs statements in the transaction. Pass `mark` of the
   * options to `work`, or undefined if the transaction did not begin with `first`.
   *
   * `tx` must reject statements after the first call of `query` (which completes the delivery), after the end of the
   * transaction, and after the connection is lost. Otherwise they could run outside the transaction, or make the server
   * roll it back without an error.
   */
  transaction<Result>(
    work: (tx: Tx, query: Query, mark: string | undefined) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result>;
  /** Returns one text for each problem with the client's settings. `check()` reports them. */
  problems?(): readonly string[];
  /** The maximum number of connections that the client opens. Default 10. */
  readonly connections?: number | undefined;
}

export interface TransactionOptions {
  /**
   * A statement without parameters. Run it first in the transaction, if possible together with `begin`. It limits how
   * long the transaction may be idle, and returns the transaction's id as `reply`. After the commit, pass the id to
   * `select pg_catalog.txid_status($1)` to check that the commit took effect.
   */
  readonly first: string;
  /**
   * Call this function with the rows that `first` returned. The rows contain the transaction's id. With the id, each
   * renewal of the lease checks that the server has not rolled the transaction back. Otherwise, if the connection of
   * the transaction dies without an error, `transaction` does not reject as long as `work` is pending and the lease is
   * renewed over other connections.
   */
  readonly begun?: ((rows: readonly Row[]) => void) | undefined;
  /**
   * The mark that `first` gives the transaction. If you have run `first`, pass the mark to `work`. It lets the store
   * detect that `work` has ended the transaction.
   *
   * If there is a mark, `query` runs only one statement, the last of the transaction, and that statement fails if the
   * transaction must not be committed. The values of that statement consist of hexadecimal digits, numbers and spaces.
   * You may send it in one message with the commit.
   */
  readonly mark?: string | undefined;
  /**
   * How long the transaction may be idle, in milliseconds, as `first` limits it. For clients that limit transactions
   * themselves. 0: no limit.
   */
  readonly idleTimeoutMs: number;
  /**
   * Aborted if the server does not reply in time to `first` or to the end of the transaction, or if the lease ends or
   * the server rolls the transaction back during `work`. Close the transaction's connection then, because it may have
   * stopped responding.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The default options. They apply if a `Database` that wraps another one does not pass on the options. */
export const plain: TransactionOptions = {
  first: "select pg_catalog.txid_current()::pg_catalog.text as reply",
  idleTimeoutMs: 0,
};

/**
 * Returns the first statement of a transaction.
 *
 * @param idleMs how long the server waits for a statement before it closes the session, in milliseconds, so that a
 *   frozen process does not keep rows locked
 * @param mark hexadecimal digits and a number, separated by a space. Default: an empty mark
 */
export const firstStatement = (idleMs: number, mark = ""): string =>
  `select pg_catalog.txid_current()::pg_catalog.text as reply, pg_catalog.pg_backend_pid() as pid, pg_catalog.set_config('idle_in_transaction_session_timeout', '${Math.ceil(idleMs)}', true), pg_catalog.set_config('svc_webhooks.run', '${mark}', true)`;

/** The name of a setting that does not exist, so reading it raises an error. */
const ended = "svc_webhooks.ended_by_work";

/** Replaces the expression that a statement selects as its reply. */
const wrapped = (statement: string, wrap: (reply: string) => string): string =>
  statement.replace(
    /^select (.*) as reply$/,
    (_all, reply: string) => `select ${wrap(reply)} as reply`,
  );

/**
 * Wraps a statement with two parameters so that it fails if `work` has ended its transaction. The added third parameter
 * is the mark that `firstStatement` has set.
 */
export const unlessEnded = (statement: string): string =>
  wrapped(
    statement,
    (reply) =>
      `case when pg_catalog.current_setting('svc_webhooks.run', true) operator(pg_catalog.=) $3::pg_catalog.text then ${reply} else pg_catalog.current_setting('${ended}') end`,
  );

/** Returns whether an error message shows that a statement failed because `work` had ended its transaction. */
export const isEndedByWork = (message: unknown): boolean => String(message).includes(ended);

/**
 * Asserts that `argument` has a method.
 *
 * @throws ConfigError `invalid_option` if it has none
 */
export function assertMethod(argument: unknown, method: string, text: string): void {
  // JavaScript callers may pass anything, even undefined.
  const member: unknown = (Object(argument) as Readonly<Record<string, unknown>>)[method];
  assertValid(typeof member === "function", "db", text);
}

/** Returns an SQL expression for the state of the transaction whose id is this parameter. */
const statusOf = (parameter: string): string =>
  `pg_catalog.txid_status(${parameter}::pg_catalog.int8)`;

/**
 * Appends the state of a transaction to a statement's reply: `committed`, `aborted`, `in progress` or nothing. The
 * added fourth parameter is the transaction's id. If a crash of the server has lost its latest transactions, the id can
 * be in the future. Nothing is appended then, because `txid_status` would raise an error.
 */
export const withStatus = (statement: string): string =>
  wrapped(
    statement,
    (reply) =>
      `pg_catalog.concat(${reply}, case when $4::pg_catalog.int8 operator(pg_catalog.<) pg_catalog.txid_current() then ${statusOf("$4")} end)`,
  );

/**
 * Rejects unless the server has committed the transaction. After a failed statement that `work` did not await,
 * PostgreSQL responds to a commit by rolling back, without an error.
 *
 * @param id the transaction's id, which `first` has returned
 */
export async function assertCommitted(query: Query, id: string): Promise<void> {
  const rows = await query(`select ${statusOf("$1")} as reply`, [id]);
  if (replyOf(rows) !== "committed") throw rolledBack();
}

/** Returns the error for a transaction that the server rolled back at the commit. */
export const rolledBack = (): WebhookError =>
  new WebhookError(
    "transaction_ended",
    "PostgreSQL rolled the transaction back, because a statement that `work` did not await has failed. Await every statement.",
  );
