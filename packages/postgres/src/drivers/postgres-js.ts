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
import { areClosable, latestConnection, unansweredSince } from "./closable-sockets.js";
import {
  closing,
  nextTurn,
  outliving,
  refuse,
  unlessLate,
  type Gate,
  type LazyQuery,
} from "./gate.js";

/** The members of postgres.js 3's `sql` that the store uses. */
export interface PostgresJs {
  readonly options: {
    prepare?: boolean | undefined;
    readonly max?: number | undefined;
    readonly socket?: unknown;
    readonly fetch_types?: boolean | undefined;
  };
  unsafe: PostgresJsUnsafe;
  // oxlint-disable-next-line typescript/no-explicit-any -- its two overloads, for any transaction
  begin(work: (tx: any) => any): Promise<any>;
}

type PostgresJsUnsafe = (
  text: string,
  values?: string[],
  options?: { prepare?: boolean },
) => PostgresJsQuery;

type PostgresJsQuery = PromiseLike<readonly unknown[]>;

/** The members of a query that the types of postgres.js omit. */
interface Internals {
  /** The connection on which the query was sent. Undefined until then. */
  readonly state?: { readonly pid: number | null };
  /** Whether no earlier query is waiting for its reply on that connection. */
  readonly active?: boolean;
  strings: readonly string[];
  args: readonly unknown[];
}

const ignore = () => {};

/** The type of the argument that `sql.begin` passes to its callback. `begin` also has an overload with options. */
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

/**
 * Closes `own`, the connection of the transaction, if it is known. Otherwise, closes all connections that `find`
 * reports as dead. If no other connection has received data either, idle connections are probably dead too: sends a
 * probe on each of them, and closes those that do not respond within one turn of the event loop.
 */
async function closeDead(
  sql: PostgresJs,
  find: ReturnType<typeof unansweredSince>,
  own?: ReturnType<typeof latestConnection>,
): Promise<void> {
  if (own) return void own.destroy();
  const { dead, others } = find();
  const findProbed = unansweredSince(sql.options, { among: others });
  for (let sent = 0; sent < others.length; sent += 1) {
    // The probe is sent on an idle connection if there is one.
    const probe = sql.unsafe("select 1");
    probe.then(ignore, ignore);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (!(probe as unknown as Internals).active) break;
  }
  // Waits one turn. After that, all probes have been written to their sockets.
  await nextTurn();
  for (const socket of [...dead, ...findProbed().dead]) socket.destroy();
}

/** @param prepare whether the application wants named statements. They have names anyway, unless there is a pooler */
export function overPostgresJs<Sql extends PostgresJs>(
  sql: Sql,
  prepare: boolean,
): Database<TxOf<Sql>> {
  // Statements are not prepared until a reply has shown that there is no pooler. In transaction mode, a pooler may send
  // the name of a prepared statement to a server connection that does not know it.
  const options = { prepare: false };

  const query: Query = async (text, values, call) => {
    const isProbe = sql.options.prepare && !options.prepare && text.endsWith(" as reply");
    const sent = sql.unsafe(
      isProbe ? `${text}, pg_catalog.pg_backend_pid() as pid` : text,
      [...values],
      values.length > 0 ? options : {},
    );
    const internals = sent as unknown as Internals;
    const find = unansweredSince(sql.options);
    let onAbort = ignore;
    const late = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        // A query behind one of the application's statements may simply be waiting, so nothing is closed for it.
        if (internals.active) void closeDead(sql, find);
        if (internals.state) return;
        // The query is waiting for a connection. If it were canceled while that connection is being opened,
        // postgres.js would never use the connection. Instead, the query is withdrawn: it is replaced with a statement
        // that has no effect.
        internals.strings = ["select 1"];
        internals.args = [];
        reject(new Error("no connection became free in time"));
      };
    });
    call?.signal.addEventListener("abort", onAbort);
    try {
      const rows = (await Promise.race([sent, late])) as readonly Row[];
      if (isProbe) {
        // If the process IDs are equal, there is no pooler: a pooler gives its clients process IDs of its own.
        options.prepare = replyOf(rows, 1) === String(internals.state?.pid);
        // postgres.js prepares its `commit` too. If that fails behind a pooler, postgres.js sends it again, which rolls
        // the transaction back. So the client must not prepare any statement.
        if (!options.prepare) sql.options.prepare = false;
      }
      return rows;
    } catch (error) {
      if (internals.state) throw error;
      throw notSent(error);
    } finally {
      call?.signal.removeEventListener("abort", onAbort);
    }
  };

  return {
    query,
    async transaction<Result>(
      work: (tx: TxOf<Sql>, query: Query, mark: string | undefined) => Promise<Result>,
      { first, begun, mark, signal }: TransactionOptions = plain,
    ): Promise<Result> {
      let find = unansweredSince(sql.options);
      const sending = () => (find = unansweredSince(sql.options, { isMine: true }));
      let own: ReturnType<typeof latestConnection>;
      signal?.addEventListener("abort", () => void closeDead(sql, find, own));
      let reply: PromiseLike<readonly Row[]> = Promise.resolve([]);
      const result = await outliving<PostgresJsTx, Result>(
        (run) => sql.begin(run),
        async (tx, gate) => {
          // The reply to `begin` has just arrived, on the transaction's connection.
          own = latestConnection(sql.options);
          // This statement is sent together with the first one of `work`.
          reply = tx.unsafe(first) as PromiseLike<readonly Row[]>;
          reply.then(begun, ignore);
          const unlessLost = guardedTx(tx, gate, () => !gate.isLost);
          sending();
          const last: Query = async (text, values) => {
            sending();
            return (await unlessLost.unsafe(text, [...values], options)) as readonly Row[];
          };
          const mayRun = () => {
            sending();
            return gate.isOpen && !gate.isLost;
          };
          const guarded = guardedTx(tx, gate, mayRun) as TxOf<Sql>;
          // Also watches for the reply to the commit or rollback. postgres.js sends these itself, so `sending` is not
          // called for them otherwise.
          return work(guarded, closing(gate, last), mark).finally(sending);
        },
      );
      await assertCommitted(query, replyOf(await reply));
      return result;
    },

    connections: sql.options.max,

    problems: () => problemsOf(sql, prepare),
  };
}

/** Returns one text for each problem with the settings of a client, or with the store's option `prepare`. */
function problemsOf({ options }: PostgresJs, prepare: boolean): readonly string[] {
  const problems: string[] = [];
  if (!areClosable(options)) {
    problems.push(
      "postgres.js keeps connections that have stopped responding. Create the client with `closableSockets` of svc-webhooks/postgres, so that the store can close them: postgres(connectionString, { ...closableSockets, fetch_types: false }).",
    );
  } else if (options.fetch_types !== false) {
    problems.push(
      "postgres.js 3.4 can end the process if a connection is closed while it reads the database's array types. Create the client with `fetch_types: false`; arrays are then returned as text.",
    );
  }
  if (prepare && options.prepare === false) {
    problems.push(
      "Statements have no names, because the connections lead to a pooler, or the client has `prepare: false`: if a name is lost, postgres.js 3.4 can wait forever for a reply. Remove `prepare` from the store's options, or connect directly to PostgreSQL.",
    );
  }
  return problems;
}

/**
 * Returns a client for a query builder's session. Transactions that the session begins run in the open transaction
 * `tx`.
 */
export const guardTx = (tx: unknown): { begin<Result>(run: (tx: unknown) => Result): Result } => ({
  begin: (run) => run(tx),
});

/**
 * The members of a postgres.js transaction that `guardedTx` guards. The transaction is also a template tag, which is
 * guarded too.
 */
interface PostgresJsTx {
  unsafe: PostgresJsUnsafe;
  file?(...args: unknown[]): PostgresJsQuery;
  savepoint?(...args: unknown[]): Promise<unknown>;
  notify?(...args: unknown[]): unknown;
  prepare?(...args: unknown[]): unknown;
}

/**
 * Returns a transaction that refuses statements while `mayRun` returns false. postgres.js itself would send them on the
 * connection that replaces a lost one, outside any transaction, or throw an error that crashes the process.
 */
function guardedTx<Tx extends PostgresJsTx>(tx: Tx, gate: Gate, mayRun: () => boolean): Tx {
  let hasFailed = false;
  /** Guards a query. Returns anything else, such as an identifier, unchanged. */
  const guarded = <Result>(result: Result): Result => {
    const query = result as { handler?: unknown } & LazyQuery &
      PromiseLike<unknown> & { reject(error: unknown): void };
    if (typeof query?.handler !== "function") return result;
    const send = query.handler as (query: unknown) => void;
    gate.lazy.add(query);
    // Replaces the handler, which postgres.js calls when the query is awaited.
    query.handler = async () => {
      gate.lazy.delete(query);
      // After an error, waits one turn, in which postgres.js reports the loss of the connection if that was the cause.
      if (hasFailed) await nextTurn();
      if (!mayRun()) return query.reject(refuse(gate));
      send(query);
      query.then(undefined, () => (hasFailed = true));
    };
    return result;
  };
  return new Proxy(tx, {
    apply: (target, _this, args: unknown[]) =>
      guarded((target as unknown as (...args: unknown[]) => unknown)(...args)),
    get(target, member) {
      if (member === "unsafe" || member === "file") {
        const method = target[member] as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => guarded(method(...args));
      }
      // The transaction's own `notify` would send a statement past the gate, and its own `prepare` would begin a
      // two-phase commit, which leaves the transaction open.
      if (member === "notify") {
        return async (...args: unknown[]) =>
          guarded(target.unsafe("select pg_notify($1, $2)", args.map(String)));
      }
      if (member === "prepare") {
        return () => {
          throw new TypeError(
            "`transaction` commits by itself, so `work` cannot prepare a two-phase commit. To use a two-phase commit, begin the transaction yourself, and complete the delivery in it with `store.finish` before you prepare it.",
          );
        };
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
