import { WebhookError, type StoreCall } from "@svc-webhooks/core";
import { limitIdle, type Database, type Query, type Row } from "../database.js";

/** The members of a `Pool` of pg 8 that the store uses. */
export interface PgPool {
  readonly totalCount: number;
  readonly options: { readonly connectionTimeoutMillis?: number | undefined };
  connect(): Promise<PgClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** The members of a client of pg 8 that the store uses. */
export interface PgClient {
  query(
    text: string,
    values?: string[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly command: string }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  release(error?: boolean): void;
}

/** The client that a pool's `connect()` resolves to. The pool also has an overload with a callback. */
export type ClientOf<Pool> = Pool extends {
  // oxlint-disable-next-line typescript/no-explicit-any -- matches any callback
  connect: { (): Promise<infer Client>; (callback: any): void };
}
  ? Client
  : never;

// Without a listener, an `error` event ends the process. The query that needs the connection rejects.
const ignore = () => {};

export function overPg<Pool extends PgPool>(pool: Pool): Database<ClientOf<Pool>> {
  // Idle connections that die are removed from the pool.
  pool.on("error", ignore);

  const checkOut = async (call?: StoreCall) => {
    let client: PgClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw new WebhookError("not_sent", `No connection to PostgreSQL: ${String(error)}`, {
        cause: error,
      });
    }
    if (call?.signal.aborted) {
      client.release();
      throw new WebhookError("not_sent", "No connection to PostgreSQL became free in time.");
    }
    // The pool does not listen while a client is checked out.
    client.on("error", ignore);
    return {
      client,
      /** A connection whose state is unknown is closed. */
      release: (isUsable: boolean) => {
        client.off("error", ignore);
        client.release(!isUsable);
      },
    };
  };

  return {
    async query(text, values, call) {
      const { client, release } = await checkOut(call);
      let isUsable = true;
      try {
        return (await client.query(text, [...values])).rows as readonly Row[];
      } catch (error) {
        isUsable = isRefusal(error);
        throw error;
      } finally {
        release(isUsable);
      }
    },

    async transaction(work, options) {
      const { client, release } = await checkOut();
      const query: Query = async (text, values) =>
        (await client.query(text, [...values])).rows as readonly Row[];
      let isUsable = false;
      try {
        // One round trip.
        await client.query(`begin; ${limitIdle(options)}`);
        try {
          // `ClientOf` is what the pool's `connect` resolves to.
          const result = await work(client as ClientOf<Pool>, query);
          const { command } = await client.query("commit");
          if (command !== "COMMIT") throw new Error("PostgreSQL rolled the transaction back.");
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
        release(isUsable);
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

/** Whether the server refused a statement and keeps the connection. */
const isRefusal = (error: unknown): boolean =>
  (error as { readonly severity?: string } | undefined)?.severity === "ERROR";
