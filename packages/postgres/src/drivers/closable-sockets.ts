import { connect, type Socket } from "node:net";

/** The options of postgres.js that determine the address of a socket. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
  readonly ssl?: unknown;
  readonly target_session_attrs?: string | null;
}

/**
 * The socket members that this module uses. They are declared here because the package's types must not depend on
 * Node's.
 */
interface Connection {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  destroy(): unknown;
}

interface Opened {
  /**
   * The open sockets, each with the number of bytes that had been written to it when data last arrived on it.
   * `Infinity` if that is unknown: before data arrives, and always with TLS.
   */
  readonly sockets: Map<Connection, number>;
  /** The socket on which data last arrived. Undefined before that, and always with TLS. */
  latest?: Connection;
  /** The index of the host that the next socket connects to, modulo the number of hosts. */
  next: number;
}

/** Maps the options object of each client to its sockets. */
const opened = new WeakMap<object, Opened>();

function socket(options: Target): Socket {
  const all: Opened = opened.get(options) ?? { sockets: new Map(), next: 0 };
  opened.set(options, all);
  const { host, port, path, ssl: isEncrypted, target_session_attrs: isChoosy } = options;
  const index = all.next % host.length;
  const address = { host: host[index] ?? "localhost", port: port[index] ?? 5432 };
  const connection = path ? connect(path) : connect(address);
  const tryNext = () => (all.next = index + 1);
  connection.once("error", tryNext).once("connect", () => {
    connection.off("error", tryNext);
    // With `target_session_attrs`, the next socket tries the next host, because postgres.js disconnects from servers
    // that do not match.
    all.next = isChoosy ? index + 1 : 0;
  });
  all.sockets.set(connection, Infinity);
  if (!isEncrypted) {
    connection.on("data", () => {
      all.sockets.set(connection, connection.bytesWritten);
      all.latest = connection;
    });
  }
  connection.once("close", () => all.sockets.delete(connection));
  // postgres.js reads these properties for TLS and for its errors.
  return Object.assign(connection, address);
}

/**
 * Options for postgres.js that let the store close connections that have stopped responding. Without them, postgres.js
 * keeps using such a connection until the operating system closes it, which can take 15 minutes. Use them with
 * `fetch_types: false`, because postgres.js can crash the process if it is reading the database's types when a
 * connection is closed. With this setting, arrays are returned as strings.
 *
 * @example
 * ```ts
 * import { closableSockets, postgresStore } from "svc-webhooks/postgres";
 * import postgres from "postgres";
 *
 * const sql = postgres("postgres://localhost/app", { ...closableSockets, fetch_types: false });
 *
 * export const store = postgresStore(sql);
 * ```
 */
export const closableSockets: {
  /** Opens a connection to the server that the other options specify. */
  readonly socket: (options: Target) => object;
} = { socket };

/** Returns whether the client with these options was created with `closableSockets`. */
export const areClosable = (options: { readonly socket?: unknown }): boolean =>
  options.socket === socket;

/**
 * Returns the connection on which data last arrived. Code that has just awaited a query runs before data can arrive on
 * another connection, so this is the connection of that query. Undefined if it is unknown, as always with TLS.
 */
export const latestConnection = (options: object): Connection | undefined =>
  opened.get(options)?.latest;

/**
 * Returns a function that finds the `dead` connections: those on which data was sent since this call, but no data has
 * arrived. If there are any, and no other connection has received data either, `others` contains all other connections.
 * Otherwise, it is empty.
 *
 * @param among the connections to examine. Default: all connections of the client
 * @param isMine whether none of these connections can be waiting for the reply to an earlier statement of the
 *   application. Otherwise, connections that are already waiting are not reported as dead, because they may only be
 *   slow. Default: false
 */
export function unansweredSince(
  options: object,
  {
    among,
    isMine = false,
  }: { readonly among?: readonly Connection[]; readonly isMine?: boolean } = {},
): () => { readonly dead: readonly Connection[]; readonly others: readonly Connection[] } {
  const sockets = opened.get(options)?.sockets ?? new Map<Connection, number>();
  const before = (among ?? [...sockets.keys()])
    // Ignores connections that are still being opened, because `connect_timeout` limits them.
    .filter(({ bytesRead }) => bytesRead > 0)
    .map((connection) => {
      const { bytesRead, bytesWritten } = connection;
      const isWaiting = bytesWritten > (sockets.get(connection) ?? Infinity);
      return { connection, bytesRead, bytesWritten, isSpared: !isMine && isWaiting };
    });
  return () => {
    const silent = before.filter(({ connection, bytesRead }) => connection.bytesRead === bytesRead);
    const isDead = ({ connection, bytesWritten, isSpared }: (typeof before)[number]) =>
      connection.bytesWritten > bytesWritten && !isSpared;
    const dead = silent.filter(isDead).map(({ connection }) => connection);
    const areAll = dead.length > 0 && silent.length === before.length;
    return {
      dead,
      others: areAll
        ? silent
            .map(({ connection }) => connection)
            .filter((connection) => !dead.includes(connection))
        : [],
    };
  };
}
