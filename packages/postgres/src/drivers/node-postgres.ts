import { WebhookError } from "@svc-webhooks/core";
import { plain, queryOver, rolledBack, type Database, type Query, type Row } from "../database.js";
import { notSent } from "../errors.js";
import {
  closing,
  newGate,
  nextTurn,
  refuse,
  unlessRefused,
  withMethods,
  type Gate,
} from "./gate.js";
import { namedStatements } from "./named-statements.js";

/** The members of a `Pool` of pg 8 that the store uses. */
export interface PgPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly options: {
    readonly connectionTimeoutMillis?: number | undefined;
    readonly max?: number | undefined;
  };
  connect(): Promise<PgClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "acquire" | "remove", listener: (client: PgClient) => void): unknown;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): readonly Function[];
}

interface PgResult {
  readonly rows: readonly unknown[];
  readonly command: string;
}

/** The members of a client of pg 8 that the store uses. */
export interface PgClient {
  query(text: string, values?: string[]): Promise<PgResult>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): readonly Function[];
  end(): Promise<void>;
  release(error?: boolean): void;
}

/** The type of the client that a pool's `connect()` resolves to. `connect` also has an overload with a callback. */
export type ClientOf<Pool> = Pool extends {
  // oxlint-disable-next-line typescript/no-explicit-any -- matches any callback
  connect: { (): Promise<infer Client>; (callback: any): void };
}
  ? Client
  : never;

/**
 * Ignores an error. An `error` event without a listener would crash the process. The query that needs the connection
 * rejects anyway.
 */
const ignore: (error: Error) => void = () => {};

/** Adds the `ignore` listener, unless it is there already. */
function survive(client: PgClient | PgPool): void {
  if (!client.listeners("error").includes(ignore)) client.on("error", ignore);
}

/** The number of client checkouts so far, across all pools that the store uses. */
let lendings = 0;

/**
 * The open clients of each pool, with the value of `lendings` at each client's latest checkout or, before its first
 * checkout, when the client was opened. Clients that were opened before the store first used the pool are added at
 * their next checkout.
 */
const clientsOf = new WeakMap<PgPool, Map<PgClient, number>>();

function adopt(pool: PgPool): void {
  if (clientsOf.has(pool)) return;
  const clients = new Map<PgClient, number>();
  clientsOf.set(pool, clients);
  // Errors of idle connections need no handling, because the pool removes connections that die.
  survive(pool);
  pool.on("connect", (client) => {
    // The listener is added before `connect` resolves, because the server may accept and close a connection in the same
    // chunk of data.
    survive(client);
    clients.set(client, lendings);
  });
  pool.on("acquire", (client) => clients.set(client, (lendings += 1)));
  pool.on("remove", (client) => clients.delete(client));
}

/**
 * Closes the connection whose server process has this PID. Behind a pooler the PIDs do not match, so nothing is
 * closed.
 */
export function closeClient(pool: PgPool, pid: unknown): void {
  for (const client of clientsOf.get(pool)?.keys() ?? []) {
    if ((client as { readonly processID?: unknown }).processID === pid) close(client);
  }
}

/** How much longer to wait for the reply to `begin` after its transaction was abandoned, in milliseconds. */
const graceMs = 2_000;

/**
 * Returns a function that closes one client whose `begin` receives no reply. It finds the clients that were checked out
 * after this call and are waiting for that reply. Then it waits `graceMs`, so that healthy clients of other
 * transactions can receive theirs. Of the clients that are still waiting, it closes the one that was checked out first.
 */
export function beginningIn(pool: PgPool): () => void {
  const before = lendings;
  return () => {
    const beginning = [...(clientsOf.get(pool) ?? [])]
      .filter(([client, lending]) => lending > before && activeQuery(client)?.text === "begin")
      .toSorted(([, left], [, right]) => left - right)
      .map(([client]) => [client, activeQuery(client)] as const);
    setTimeout(() => {
      const earliest = beginning.find(
        ([client, query]) => !closed.has(client) && activeQuery(client) === query,
      );
      if (earliest) close(earliest[0]);
    }, graceMs);
  };
}

function activeQuery(client: PgClient): { readonly text?: string } | null | undefined {
  const internals = client as unknown as Readonly<Record<string, { text?: string } | null>>;
  // Prefers the internal property, because the public one is deprecated and logs a warning in versions that have both.
  return internals["_activeQuery" in client ? "_activeQuery" : "activeQuery"];
}

const closed = new WeakSet<PgClient>();

/**
 * Closes a connection without waiting for the server. Sends a statement first, because `end` destroys the socket
 * immediately only while a statement is pending.
 */
function close(client: PgClient): void {
  closed.add(client);
  client.query("select 1").catch(ignore);
  client.end().catch(ignore);
}

/** Closes a client that was checked out only to close it. */
function discard(client: PgClient): void {
  close(client);
  client.release(true);
}

/**
 * Inlines the values into the statement as string literals. The values need no escaping, because they consist only of
 * hexadecimal digits, numbers and spaces.
 */
const withValues = (text: string, values: readonly string[]): string =>
  text.replaceAll(/\$(\d+)/g, (_all, number) => `'${values[Number(number) - 1]}'`);

/**
 * Returns a client for `work` that refuses statements once the gate is closed, a function that returns the number of
 * its pending statements, and a function that records failures.
 */
function guardedClient(client: PgClient, gate: Gate) {
  let pending = 0;
  let failure: { readonly error: unknown } | undefined;
  /**
   * Records the first failure, and sets it as the cause of later errors with the code 25P02: after a failed statement,
   * the server rejects all later ones of the transaction with that code.
   */
  const noteFailure = (error: unknown) => {
    const refusal = Object(error) as { readonly code?: unknown; cause?: unknown };
    if (refusal.code !== "25P02") failure ??= { error };
    else if (failure) refusal.cause ??= failure.error;
  };
  const settle = () => (pending -= 1);
  const fail = (error: unknown) => {
    settle();
    noteFailure(error);
  };
  const guarded = withMethods(client, {
    query(...args) {
      if (gate.isOpen) {
        // Statements with callbacks, and cursors, return no promise, so they keep counting as pending.
        pending += 1;
        const result = client.query(...(args as [string])) as Partial<Promise<unknown>> | undefined;
        result?.then?.(settle, fail);
        return result;
      }
      const error = refuse(gate);
      const callback = args.at(-1);
      return typeof callback === "function" ? void callback(error) : Promise.reject(error);
    },
    release() {
      throw new TypeError(
        "Do not release the transaction's client, because the store releases it.",
      );
    },
  });
  return { guarded, pending: () => pending, noteFailure };
}

/**
 * Runs a transaction on a client that was checked out for it: begins it, runs `work`, and commits or rolls back. The
 * client then returns to the pool, or is closed if the server has not confirmed the end.
 */
async function transact<Result>(
  client: PgClient,
  begin: () => Promise<unknown>,
  work: (tx: PgClient, query: Query, mark: string | undefined) => Promise<Result>,
  mark: string | undefined,
): Promise<Result> {
  const gate = newGate();
  const { guarded, pending, noteFailure } = guardedClient(client, gate);
  /** The command tag that the server returned for the commit. */
  let command: string | undefined;
  const lastStatement: Query = async (text, values) => {
    // Waits one turn, because a statement that `work` did not await may still fail, or its callback may send another
    // one.
    if (mark) await nextTurn();
    if (!mark || pending() > 0) return closing(gate, queryOver(client))(text, values);
    gate.isOpen = false;
    const message = `${withValues(text, values)}; commit`;
    const results = (await client.query(message)) as unknown as readonly PgResult[];
    command = results[1]?.command;
    return results[0]?.rows as readonly Row[];
  };
  const query: Query = async (...args) => {
    try {
      return await lastStatement(...args);
    } catch (error) {
      noteFailure(error);
      throw error;
    }
  };
  let isUsable = false;
  let onLost = ignore;
  const lost = new Promise<never>((_resolve, reject) => (onLost = reject));
  lost.catch(ignore);
  client.on("error", onLost);
  try {
    await begin();
    try {
      // `work` may never settle, but when the server terminates its idle transaction, `lost` rejects.
      const ended = Promise.race([work(guarded, query, mark), lost]);
      const result = await unlessRefused(gate, ended, () => command);
      command ??= (await client.query("commit")).command;
      if (command !== "COMMIT") throw rolledBack();
      isUsable = true;
      return result;
    } catch (error) {
      await client.query("rollback").then(() => (isUsable = true), ignore);
      throw error;
    }
  } finally {
    client.off("error", onLost);
    client.release(!isUsable);
  }
}

/**
 * @param prepare whether statements outside of transactions have names. Those in a transaction have none, because they
 *   share a message with `begin` or `commit`, which is faster than a message of their own
 */
export function overPg<Pool extends PgPool>(
  pool: Pool,
  prepare: boolean,
): Database<ClientOf<Pool>> {
  adopt(pool);
  const named = prepare ? namedStatements() : undefined;
  const statementsOver = named?.over ?? queryOver;
  /** The number of the store's statements that have received a reply. */
  let replies = 0;

  /** Runs a statement, and closes its connection if no reply arrives before `signal` is aborted. */
  const runOn = async <Result>(
    client: PgClient,
    signal: AbortSignal | undefined,
    run: () => Promise<Result>,
  ) => {
    const repliesBefore = replies;
    const onAbort = () => {
      close(client);
      // If none of the store's statements has received a reply meanwhile, idle connections are probably dead too.
      for (let idle = replies === repliesBefore ? pool.idleCount : 0; idle > 0; idle -= 1) {
        pool.connect().then(discard).catch(ignore);
      }
    };
    signal?.addEventListener("abort", onAbort);
    try {
      const result = await run();
      replies += 1;
      return result;
    } catch (error) {
      if (isRefusal(error)) replies += 1;
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  };

  return {
    async query(text, values, call) {
      const client = await checkOut(pool, call?.signal);
      let isUsable = true;
      try {
        return await runOn(client, call?.signal, () => statementsOver(client)(text, values));
      } catch (error) {
        isUsable = isRefusal(error);
        throw error;
      } finally {
        // A connection whose state is unknown is closed.
        client.release(!isUsable);
      }
    },

    async transaction(work, { first, begun, mark, signal } = plain) {
      const client = await checkOut(pool, signal);
      return transact(
        client,
        async () => {
          // `begin` and the first statement are sent together, in one round trip.
          const results = await runOn(client, signal, () => client.query(`begin; ${first}`));
          begun?.((results as unknown as readonly PgResult[])[1]?.rows as readonly Row[]);
          signal?.addEventListener("abort", () => close(client));
        },
        // The cast is safe: `ClientOf` is the type that the pool's `connect` resolves to.
        work as (tx: PgClient, query: Query, mark: string | undefined) => ReturnType<typeof work>,
        mark,
      );
    },

    connections: pool.options.max,

    problems: () => [
      ...(pool.options.connectionTimeoutMillis ? [] : [noTimeout]),
      ...(named?.problems() ?? []),
    ],
  };
}

const noTimeout =
  "The pool has no connectionTimeoutMillis, so calls that find no free connection wait forever. Set this option to 1000.";

/**
 * Returns a client for a query builder's session in an open transaction. It sends `begin`, `commit` and `rollback` only
 * if they come from `work`.
 */
export const guardClient = (client: PgClient, isInWork: () => boolean): Pick<PgClient, "query"> =>
  withMethods(client, {
    query(...args) {
      const { text = "" } = Object(args[0]) as { readonly text?: string };
      return isInWork() || !/^(begin|commit|rollback)$/.test(text)
        ? client.query(...(args as [string]))
        : Promise.resolve({ rows: [] });
    },
  });

/**
 * Checks a client out of the pool.
 *
 * @throws WebhookError `not_sent` (as a rejection) if no connection can be opened or becomes free in time
 */
async function checkOut(pool: PgPool, signal: AbortSignal | undefined): Promise<PgClient> {
  let client: PgClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw notSent(error);
  }
  if (signal?.aborted) {
    client.release();
    throw new WebhookError("not_sent", "No connection to PostgreSQL became free in time.");
  }
  // Listens for errors, because the pool does not while a client is checked out, and this client may have been opened
  // before the store was created.
  survive(client);
  return client;
}

/**
 * Returns whether an error means that the server rejected a statement but keeps the connection. Errors that the driver
 * itself creates have no severity.
 */
function isRefusal(error: unknown): boolean {
  const { severity, code } = Object(error) as { severity?: string; code?: string };
  return severity !== undefined && !/^(?:08|57P|25P03)/.test(String(code));
}
