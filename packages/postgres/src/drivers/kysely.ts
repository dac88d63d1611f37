import {
  assertCommitted,
  assertMethod,
  plain,
  replyOf,
  type Database,
  type Query,
  type Row,
} from "../database.js";
import { closing, newGate, refuse, unlessRefused } from "./gate.js";

/** The members of Kysely that the store uses. */
export interface Kysely<
  Tx extends KyselyQueries<Compiled>,
  Compiled,
> extends KyselyQueries<Compiled> {
  transaction(): {
    execute<Result>(work: (tx: Tx & Pluggable) => Promise<Result>): Promise<Result>;
  };
}

export interface KyselyQueries<Compiled> {
  executeQuery(query: Compiled): Promise<{ readonly rows: readonly unknown[] }>;
}

interface Pluggable {
  withPlugin(plugin: object): unknown;
}

/**
 * Kysely on PostgreSQL. Over pg, add listeners to the pool yourself, which Kysely does not do: without
 * them, a lost connection can end the process.
 *
 * @param CompiledQuery of the `kysely` package
 * @throws ReceiverConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import { fromKysely, postgresStore } from "@svc-webhooks/postgres";
 * import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionTimeoutMillis: 1_000 });
 * pool.on("error", () => {});
 * pool.on("connect", (client) => client.on("error", () => {}));
 * const db = new Kysely<{ contacts: { id: string } }>({ dialect: new PostgresDialect({ pool }) });
 *
 * export const store = postgresStore(fromKysely(db, CompiledQuery));
 * ```
 */
export function fromKysely<Tx extends KyselyQueries<Compiled>, Compiled>(
  db: Kysely<Tx, Compiled>,
  CompiledQuery: { raw(text: string, values?: unknown[]): Compiled },
): Database<Tx> {
  const usage = "`fromKysely(db, CompiledQuery)` takes a Kysely and the `CompiledQuery` of kysely.";
  assertMethod(db, "executeQuery", usage);
  assertMethod(CompiledQuery, "raw", usage);
  const queryOver =
    (on: KyselyQueries<Compiled>): Query =>
    async (text, values) =>
      (await on.executeQuery(CompiledQuery.raw(text, [...values]))).rows as readonly Row[];
  return {
    query: queryOver(db),
    async transaction(work, { first } = plain) {
      let id = "";
      const result = await db.transaction().execute(async (tx) => {
        const query = queryOver(tx);
        id = replyOf(await query(first, []));
        const gate = newGate();
        // After the end, Kysely refuses statements itself.
        const guard = {
          transformQuery<Node>({ node }: { readonly node: Node }): Node {
            if (!gate.isOpen) throw refuse(gate);
            return node;
          },
          transformResult: async <Rows>(rows: { readonly result: Rows }) => rows.result,
        };
        return unlessRefused(gate, work(tx.withPlugin(guard) as Tx, closing(gate, query)));
      });
      // Statements that were compiled before are not guarded.
      await assertCommitted(queryOver(db), id);
      return result;
    },
  };
}
