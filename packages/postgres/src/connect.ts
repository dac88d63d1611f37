import { ConfigError } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import type { Database } from "./database.js";
import { overPg, type PgPool } from "./drivers/node-postgres.js";
import { overPostgresJs, type PostgresJs } from "./drivers/postgres-js.js";

/** The clients that the store and `migrate` accept. */
export type PostgresClient = PgPool | PostgresJs | Database<unknown>;

const has = (value: unknown, ...members: readonly string[]): boolean =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  members.every((member) => member in value);

/**
 * Returns a database over a client of pg or postgres.js, or undefined for any other client.
 *
 * @param prepare whether statements have names
 * @throws ConfigError `invalid_option` if `client` is a single connection, on which the transactions of concurrent
 *   deliveries would interfere with each other
 */
export function driverOf(client: unknown, prepare = false): Database<unknown> | undefined {
  // `subscribe` excludes clients that copy the interface of postgres.js, because their queries behave differently.
  if (has(client, "begin", "unsafe", "subscribe")) {
    return overPostgresJs(client as PostgresJs, prepare);
  }
  if (has(client, "unsafe", "release") || has(client, "unsafe", "savepoint")) {
    throw invalid(
      "`db` is a single postgres.js connection (reserved or in a transaction), so concurrent transactions would interfere. Pass the `sql` that postgres(connectionString) returns.",
    );
  }
  if (has(client, "connect", "totalCount")) return overPg(client as PgPool, prepare);
  // A single client of pg, possibly checked out of a pool. PGlite has no `connect`, so it does not match.
  if (has(client, "connect", "query")) {
    throw invalid(
      "`db` is a single pg client, so concurrent transactions would interfere. Pass a Pool: new Pool({ connectionString }).",
    );
  }
  return undefined;
}

/**
 * Returns a database over any accepted client.
 *
 * @param prepare whether statements have names
 * @throws ConfigError `invalid_option` if the client is not accepted, or if `prepare` is true and the client cannot
 *   name statements
 */
export function connect(client: PostgresClient, prepare = false): Database<unknown> {
  const wrapper = wrapperOf(client);
  if (wrapper) throw invalid(wrapper);
  const driver = driverOf(client, prepare);
  if (driver) return driver;
  if (has(client, "query", "transaction")) {
    assertValid(
      !prepare,
      "prepare",
      "`prepare` requires a Pool from pg or an `sql` from postgres.js, because a Database cannot name statements. Remove `prepare`, or pass the client itself.",
    );
    return client as Database<unknown>;
  }
  throw invalid("`db` must be a Pool from pg, an `sql` from postgres.js, or a Database.");
}

/** Returns the error text for a client that must be wrapped, or undefined for any other. */
function wrapperOf(client: PostgresClient): string | undefined {
  if (has(client, "executeQuery", "selectFrom")) {
    return "`db` is a Kysely instance. Wrap it: fromKysely(db, CompiledQuery, pool). If it does not use pg, omit `pool`.";
  }
  if (has(client, "execute", "transaction")) {
    return "`db` is a Drizzle database. Wrap it: fromDrizzle(db, sql).";
  }
  if (has(client, "exec", "waitReady")) {
    return "`db` is a PGlite instance. Wrap it: fromPglite(db).";
  }
  return undefined;
}

/** Returns the error for a client that the store does not accept. */
export const invalid = (text: string): ConfigError => new ConfigError("invalid_option", "db", text);
