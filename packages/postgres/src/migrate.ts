import { assertOptions } from "@svc-webhooks/core";
import { connect, type PostgresClient } from "./connect.js";
import { firstStatement, replyOf, type Query } from "./database.js";
import { explained, isTransient } from "./errors.js";
import { creationOf, schemaOf, version } from "./schema.js";

export interface MigrateOptions {
  /** As that of the store. Default `"svc_webhooks"`. Errors: `invalid_option`. */
  readonly schema?: string | undefined;
}

/**
 * Creates or updates the schema. Call it when you deploy, or whenever a process starts: if there is nothing
 * to do, it only reads. Of concurrent calls one applies, and the others wait for it. Changes only
 * add, so that processes of the previous version keep running.
 *
 * The role needs the right to create a schema in the database, but only if something is applied.
 *
 * @returns whether it has changed the database
 * @throws ReceiverConfigError `invalid_option`, `unknown_option`
 * @throws WebhookError `permission_denied`, `read_only`, `not_sent`, and the database's other errors. Nothing
 *   was changed then
 *
 * @example
 * ```ts
 * import { migrate } from "@svc-webhooks/postgres";
 * import { Pool } from "pg";
 *
 * export async function deploy() {
 *   const pool = new Pool({ connectionTimeoutMillis: 1_000 });
 *   await migrate(pool);
 *   await pool.end();
 * }
 * ```
 */
export async function migrate(db: PostgresClient, options: MigrateOptions = {}): Promise<boolean> {
  assertOptions(options, ["schema"]);
  const schema = schemaOf(options.schema);
  const { name } = schema;
  const database = connect(db);

  const isCurrent = async (query: Query): Promise<boolean> => {
    const tables = await query(
      "select count(*)::text as reply from pg_tables where schemaname = $1 and tablename = 'versions'",
      [name],
    );
    if (replyOf(tables) !== "1") return false;
    const newest = await query(
      `select coalesce(max(version), 0)::text as reply from "${name}".versions`,
      [],
    );
    return Number(replyOf(newest)) >= version;
  };

  const apply = () =>
    database.transaction(
      async (_tx, query) => {
        await query("select pg_advisory_xact_lock(hashtextextended($1, 0))::text", [lockOf(name)]);
        if (await isCurrent(query)) return false;
        for (const statement of creationOf(schema)) await query(statement, []);
        return true;
      },
      { first: firstStatement(60_000), idleTimeoutMs: 60_000 },
    );

  try {
    if (await isCurrent(database.query)) return false;
    return await apply().catch((error: unknown) => {
      // With a stricter isolation, the snapshot is older than the lock: another process has applied it.
      if (isTransient(error)) return apply();
      throw error;
    });
  } catch (error) {
    throw explained(error, schema);
  }
}

const lockOf = (schema: string) => `svc-webhooks schema ${schema}`;
