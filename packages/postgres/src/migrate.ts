import { WebhookError } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { connect, type PostgresClient } from "./connect.js";
import {
  contents,
  foreignIn,
  missingIn,
  openIn,
  relationIn,
  type Contents,
} from "./schema/contents.js";
import { factsOf, firstStatement, replyOf, type Query } from "./database.js";
import { explained, isLockTimeout, isTransient } from "./errors.js";
import { creationOf, schemaOf, version } from "./schema/schema.js";

export interface MigrateOptions {
  /** The name of the schema, as in the store's options. Default `"svc_webhooks"`. Errors: `invalid_option`. */
  readonly schema?: string | undefined;
}

/**
 * Creates or updates the schema, and restores functions, tables and indexes that were dropped. Call it when you deploy,
 * or whenever a process starts: if there is nothing to do, it only reads. If several calls run concurrently, one
 * applies the schema and the others wait for it. Functions keep their names and their meaning, so that processes of the
 * previous version keep running.
 *
 * To apply changes, the role must own the schema or, if there is none yet, have the right to create schemas in the
 * database.
 *
 * @returns whether it changed the database
 * @throws ConfigError `invalid_option`, `unknown_option`
 * @throws WebhookError `schema_taken`: under one of the store's names, the schema contains a table of another tool, a
 *   table or function of a role that does not own the schema, or a function with other parameters; or it is of a newer
 *   version and incomplete; `lock_timeout`: another session has held a lock for 10 s; `permission_denied`, `read_only`,
 *   `not_sent`, and the database's other errors. Nothing was changed, unless the connection was lost during the commit
 *
 * @example
 * ```ts
 * import { migrate } from "svc-webhooks/postgres";
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
    const objects = factsOf(
      await query(`select pg_catalog.concat('f', ${contents}) as reply`, [name]),
    ) as Contents;
    const foreign = foreignIn(objects, name);
    if (foreign.length > 0) throw new WebhookError("schema_taken", foreign.join(" "));
    if (!relationIn(objects, "versions")) return false;
    const newest = await query(
      `select coalesce(pg_catalog.max(version)::pg_catalog.text, '0') as reply from "${name}".versions`,
      [],
    );
    const applied = replyOf(newest);
    const outdated = [...missingIn(objects), ...openIn(objects)];
    if (outdated.length === 0) return Number(applied) >= version;
    // Refuses, because replacing these functions could undo the changes of the newer version.
    if (!(Number(applied) <= version)) {
      throw new WebhookError(
        "schema_taken",
        `The schema "${name}" has version ${applied}, which this version of the package does not know, and it lacks ${outdated.join(", ")}. Run \`migrate\` from the newer version of svc-webhooks/postgres. If the table "versions" belongs to another tool, choose another \`schema\`, and pass the same one to \`migrate\` and \`postgresStore\`.`,
      );
    }
    return false;
  };

  const apply = () =>
    database.transaction(
      async (_tx, query) => {
        await query(lock, [lockName(name)]);
        if (await isCurrent(query)) return false;
        for (const statement of creationOf(schema)) await query(statement, []);
        return true;
      },
      { first: firstStatement(60_000), idleTimeoutMs: 60_000 },
    );

  try {
    if (await isCurrent(database.query)) return false;
    return await apply().catch((error: unknown) => {
      // Tries once more after a conflict. If the isolation level is stricter than "read committed", the transaction
      // conflicts with another process that has just created the schema, because the transaction cannot see that
      // schema.
      if (isTransient(error)) return apply();
      throw error;
    });
  } catch (error) {
    throw isLockTimeout(error) ? locked(name, error) : explained(error, schema);
  }
}

const lockName = (schema: string) => `svc-webhooks schema ${schema}`;

const locked = (schema: string, cause: unknown) =>
  new WebhookError(
    "lock_timeout",
    `For 10 s, another session has held a lock that \`migrate\` needs: either a lock on a table in "${schema}", or the advisory lock hashtextextended('${lockName(schema)}', 0). Find the session in pg_locks and end it, then run \`migrate\` again.`,
    { cause },
  );

/**
 * A statement that waits until no other `migrate` of this schema is running. Its timeout also limits later waits for
 * table locks, because the store's calls queue behind a `migrate` that waits for a lock.
 */
const lock =
  "select pg_catalog.set_config('lock_timeout', '10s', true), pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1::pg_catalog.text, 0::pg_catalog.int8))::pg_catalog.text";
