import { ReceiverConfigError } from "@svc-webhooks/core";
import type { Database } from "./database.js";
import { overPg, type PgPool } from "./drivers/node-postgres.js";
import { overPostgresJs, type PostgresJs } from "./drivers/postgres-js.js";

/** What the store and `migrate` accept. */
export type PostgresClient = PgPool | PostgresJs | Database<unknown>;

const has = (value: object, ...members: readonly string[]) =>
  members.every((member) => member in value);

/** @throws ReceiverConfigError `invalid_option` if `client` is none of these */
export function connect(client: PostgresClient): Database<unknown> {
  // JavaScript callers may pass anything.
  const given: unknown = client;
  if ((typeof given === "object" && given !== null) || typeof given === "function") {
    if (has(given, "begin", "unsafe")) return overPostgresJs(client as PostgresJs);
    if (has(given, "connect", "totalCount")) return overPg(client as PgPool);
    const wrapper = wrapperOf(given);
    if (wrapper) throw invalid(wrapper);
    if (has(given, "query", "transaction")) return client as Database<unknown>;
  }
  throw invalid("`db` must be a Pool of pg, the sql of postgres.js or a Database.");
}

/** The text for a client that needs to be wrapped or replaced. */
function wrapperOf(client: object): string | undefined {
  if (has(client, "executeQuery", "selectFrom")) {
    return "`db` is a Kysely instance. Wrap it: fromKysely(db, CompiledQuery).";
  }
  if (has(client, "execute", "transaction")) {
    return "`db` is a Drizzle database. Wrap it: fromDrizzle(db, sql).";
  }
  if (has(client, "exec", "waitReady")) {
    return "`db` is a PGlite. Wrap it: fromPglite(db).";
  }
  if (has(client, "connect", "query")) {
    return "`db` is a single client of pg, whose transactions would mix. Pass a Pool: new Pool({ connectionString }).";
  }
  return undefined;
}

const invalid = (text: string) => new ReceiverConfigError("invalid_option", "db", text);
