import { WebhookError, type StoreCall } from "@svc-webhooks/core";
import { plain, queryOver, rolledBack, type Database } from "../database.js";
import { notSent } from "../errors.js";
import { closing, newGate, refuse, unlessRefused, withMethods, type Gate } from "./gate.js";

/** The members of a `Pool` of pg 8 that the store uses. */
export interface PgPool {
  readonly totalCount: number;
  readonly options: { readonly connectionTimeoutMillis?: number | undefined };
  connect(): Promise<PgClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PgClient) => void): unknown;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): readonly Function[];
}

/** The members of a client of pg 8 that the store uses. */
export interface PgClient {
  query(
    text: string,
    values?: string[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly command: string }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): readonly Function[];
  release(error?: boolean): void;
}

/** The client that a pool's `connect()` resolves to. The pool also has an overload with a callback. */
export type ClientOf<Pool> = Pool extends {
  // oxlint-disable-next-line typescript/no-explicit-any -- matches any callback
  connect: { (): Promise<infer Client>; (callback: any): void };
}
  ? Client
  : never;

/** Without a listener, an `error` event ends the process. The query that needs the connection rejects. */
const ignore: (error: Error) => void = () => {};

/** Adds such a listener, once. */
export function survive(client: PgClient | PgPool): void {
  if (!client.listeners("error").includes(ignore)) client.on("error", ignore);
}

/** A client for the code in a transaction. */
export const guardedClient = <Client extends PgClient>(
  client: Client,
  mayRun: (statement: unknown) => boolean,
  gate: Gate,
  release: () => void,
): Client =>
  withMethods(client, {
    query(...args) {
      if (mayRun(args[0])) return (client.query as (...given: unknown[]) => unknown)(...args);
      const error = refuse(gate);
      const callback = args.at(-1);
      return typeof callback === "function" ? void callback(error) : Promise.reject(error);
    },
    release,
  });

const refuseRelease = () => {
  throw new TypeError("The store releases the client of a transaction.");
};

export function overPg<Pool extends PgPool>(pool: Pool): Database<ClientOf<Pool>> {
  // Idle connections that die are removed from the pool.
  survive(pool);

  const checkOut = async (call?: StoreCall) => {
    let client: PgClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw notSent(error);
    }
    if (call?.signal.aborted) {
      client.release();
      throw new WebhookError("not_sent", "No connection to PostgreSQL became free in time.");
    }
    // The pool does not listen while a client is checked out.
    survive(client);
    return client;
  };

  return {
    async query(text, values, call) {
      const client = await checkOut(call);
      let isUsable = true;
      try {
        return await queryOver(client)(text, values);
      } catch (error) {
        isUsable = isRefusal(error);
        throw error;
      } finally {
        // A connection whose state is unknown is closed.
        client.release(!isUsable);
      }
    },

    async transaction(work, { first } = plain) {
      const client = await checkOut();
      const gate = newGate();
      const query = closing(gate, queryOver(client));
      let isUsable = false;
      let onLost = ignore;
      const lost = new Promise<never>((_resolve, reject) => (onLost = reject));
      lost.catch(ignore);
      client.on("error", onLost);
      try {
        // One round trip.
        await client.query(`begin; ${first}`);
        try {
          // `ClientOf` is what the pool's `connect` resolves to.
          const tx = guardedClient(client, () => gate.isOpen, gate, refuseRelease);
          // The server may end the transaction of a `work` that never settles.
          const ended = Promise.race([work(tx as ClientOf<Pool>, query), lost]);
          const result = await unlessRefused(gate, ended);
          const { command } = await client.query("commit");
          if (command !== "COMMIT") throw rolledBack();
          isUsable = true;
          return result;
        } catch (error) {
          await client.query("rollback").then(
            () => (isUsable = true),
            () => {},
          );
          throw error;
        }
      } finally {
        client.off("error", onLost);
        // A connection whose state is unknown is closed.
        client.release(!isUsable);
      }
    },

    problems: () =>
      pool.options.connectionTimeoutMillis
        ? []
        : [
            "The pool has no connectionTimeoutMillis, so calls that find no free connection wait without end. Set it to 1000.",
          ],
  };
}

/** Whether the server refused a statement and keeps the connection. Drivers' own errors have no severity. */
function isRefusal(error: unknown): boolean {
  const { severity, code } = Object(error) as { severity?: string; code?: string };
  return severity !== undefined && !/^(?:08|57P|25P03)/.test(String(code));
}
