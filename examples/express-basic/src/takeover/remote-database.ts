import { connect } from "node:net";
import { createInterface } from "node:readline";
import type { Database, Query } from "svc-webhooks/postgres";

/** A statement for the database's process, sent as a line of JSON. */
export interface Statement {
  readonly call: number;
  /** The number of the transaction, among those of the connection, that the statement belongs to. */
  readonly transaction?: number | undefined;
  readonly text: string;
  readonly values: string[];
}

export interface Reply {
  readonly call: number;
  readonly rows: readonly Record<string, unknown>[];
  readonly error?: string;
}

/** Returns a `Database` for `postgresStore` over a custom client: here, over the demo's database process. */
export function remoteDatabase(port: number): Database<Query> {
  const socket = connect(port, "127.0.0.1");
  const pending = new Map<number, (reply: Reply) => void>();
  let calls = 0;
  let transactions = 0;
  createInterface(socket).on("line", (line) => {
    const reply = JSON.parse(line) as Reply;
    pending.get(reply.call)?.(reply);
    pending.delete(reply.call);
  });

  const queryIn =
    (transaction?: number): Query =>
    async (text, values) => {
      const call = (calls += 1);
      const statement: Statement = { call, transaction, text, values: [...values] };
      socket.write(`${JSON.stringify(statement)}\n`);
      const { rows, error } = await new Promise<Reply>((resolve) => pending.set(call, resolve));
      if (error !== undefined) throw new Error(error);
      return rows;
    };

  return {
    query: queryIn(),
    async transaction(work, { first, mark }) {
      const query = queryIn((transactions += 1));
      await query("begin", []);
      try {
        await query(first, []);
        const result = await work(query, query, mark);
        await query("commit", []);
        return result;
      } catch (error) {
        await query("rollback", []);
        throw error;
      }
    },
  };
}
