import { readFileSync, writeFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import {
  closableSockets,
  fromDrizzle,
  fromKysely,
  fromPglite,
  migrate,
  postgresStore,
  type Database,
  type PostgresStore,
  type PostgresStoreOptions,
} from "@svc-webhooks/postgres";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle as drizzleOverPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { oncePerRun } from "./once-per-run.js";

/** A store over one kind of client, and statements in and outside of its transactions. */
export interface TestStore {
  readonly store: PostgresStore<unknown>;
  /** The database of the store, unless it uses the client directly. */
  readonly database?: Database<unknown>;
  /** Runs a statement outside of any transaction. */
  readonly query: Database<unknown>["query"];
  /** Runs a statement in a transaction of the store. */
  readonly queryIn: (tx: unknown, text: string, values?: readonly string[]) => Promise<unknown>;
  readonly migrate: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export interface ClientKind {
  readonly name: string;
  readonly open: (connectionString: string) => TestStore;
}

const poolOf = (connectionString: string) =>
  new Pool({ connectionString, max: 10, connectionTimeoutMillis: 5_000 });

/** Returns the parameters of a tag: the texts between `$1`, `$2`, … */
const between = (text: string) => text.split(/\$\d+/) as unknown as TemplateStringsArray;

const overDatabase = <Tx>(
  database: Database<Tx>,
  queryIn: (tx: Tx, text: string, values: string[]) => Promise<unknown>,
  close: () => Promise<void>,
): TestStore => ({
  store: postgresStore(database),
  database,
  query: database.query,
  queryIn: (tx, text, values = []) => queryIn(tx as Tx, text, [...values]),
  migrate: () => migrate(database),
  close,
});

const overPg = (name: string, options: PostgresStoreOptions): ClientKind => ({
  name,
  open(connectionString) {
    const pool = poolOf(connectionString);
    return {
      store: postgresStore(pool, options),
      query: async (text, values) => (await pool.query(text, [...values])).rows,
      queryIn: (tx, text, values = []) => (tx as Pool).query(text, [...values]),
      migrate: () => migrate(pool),
      close: () => pool.end(),
    };
  },
});

export const pg: ClientKind = overPg("pg", {});

/** The options of postgres.js that the README of the store recommends. */
const recommended = { ...closableSockets, fetch_types: false, max: 10 };

const overPostgresJs = (
  name: string,
  prepare: boolean,
  storeOptions: PostgresStoreOptions,
): ClientKind => ({
  name,
  open(connectionString) {
    const options = { ...recommended, prepare, onnotice: () => {} };
    const sql = postgres(connectionString, options);
    return {
      store: postgresStore(sql, storeOptions) as PostgresStore<unknown>,
      query: async (text, values) => sql.unsafe(text, [...values]),
      queryIn: async (tx, text, values = []) => (tx as typeof sql).unsafe(text, [...values]),
      migrate: () => migrate(sql),
      // Without a limit, this can wait for a connection that was lost.
      close: () => sql.end({ timeout: 1 }),
    };
  },
});

const postgresJs = overPostgresJs("postgres.js", true, {});

/** The kinds of clients that accept the option `prepare` of the store, with that option. */
export const preparingKinds: readonly ClientKind[] = [
  overPg("pg, prepare", { prepare: true }),
  overPostgresJs("postgres.js, prepare", true, { prepare: true }),
];

const kysely: ClientKind = {
  name: "Kysely over pg",
  open(connectionString) {
    const pool = poolOf(connectionString);
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    return overDatabase(
      fromKysely(db, CompiledQuery, pool),
      (tx, text, values) => kyselySql(between(text), ...values).execute(tx),
      () => db.destroy(),
    );
  },
};

const drizzlePg: ClientKind = {
  name: "Drizzle over pg",
  open(connectionString) {
    const pool = poolOf(connectionString);
    return overDatabase(
      fromDrizzle(drizzleOverPg(pool), drizzleSql),
      async (tx, text, values) => tx.execute(drizzleSql(between(text), ...values)),
      () => pool.end(),
    );
  },
};

const drizzlePostgresJs: ClientKind = {
  name: "Drizzle over postgres.js",
  open(connectionString) {
    const options = { ...recommended, onnotice: () => {} };
    const sql = postgres(connectionString, options);
    return overDatabase(
      fromDrizzle(drizzleOverPostgresJs(sql), drizzleSql),
      async (tx, text, values) => tx.execute(drizzleSql(between(text), ...values)),
      () => sql.end({ timeout: 1 }),
    );
  },
};

/**
 * Creates a database in this process, without a server. Later ones are copies of a run's first, because
 * creating it takes seconds.
 */
export async function startPglite(): Promise<PGlite> {
  const image = await oncePerRun("pglite.tar", async (path) => {
    const db = await PGlite.create();
    const dump = await db.dumpDataDir("none");
    writeFileSync(path, Buffer.from(await dump.arrayBuffer()));
    await db.close();
  });
  return PGlite.create({ loadDataDir: new Blob([readFileSync(image)]) });
}

export const pglite = {
  name: "PGlite",
  async open(): Promise<TestStore> {
    const db = await startPglite();
    return overDatabase(
      fromPglite(db),
      (tx, text, values) => tx.query(text, values),
      () => db.close(),
    );
  },
};

/** The kinds of clients that the README names. */
export const clientKinds: readonly ClientKind[] = [
  pg,
  postgresJs,
  kysely,
  drizzlePg,
  drizzlePostgresJs,
];

/** The kinds of clients for PgBouncer in transaction mode. */
export const pooledClientKinds: readonly ClientKind[] = [
  pg,
  postgresJs,
  overPostgresJs("postgres.js with prepare: false", false, {}),
  kysely,
  drizzlePostgresJs,
];

/**
 * A statement that ages records by bringing the ends of their leases and retention nearer: a server's clock
 * cannot be set. `$1`: milliseconds.
 */
export const age = `update svc_webhooks.deliveries set
  lease_ends_at = lease_ends_at - $1::float8 * interval '1 millisecond',
  expires_at = expires_at - $1::float8 * interval '1 millisecond',
  purge_hour = svc_webhooks.hour_1(expires_at - $1::float8 * interval '1 millisecond')`;
