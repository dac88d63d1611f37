import { PGlite } from "@electric-sql/pglite";
import { fromPglite, migrate, postgresStore, type PostgresStore } from "svc-webhooks/postgres";
import { Pool } from "pg";
import { tables, type Queries } from "./orders.js";

export interface Database extends Queries {
  readonly store: PostgresStore<Queries>;
  /** Creates this app's tables and the store's schema. Run it when you deploy. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the PostgreSQL at `DATABASE_URL`, or else PGlite, which is PostgreSQL in this process, in
 * `PGLITE_FOLDER`.
 */
export function openDatabase(env: NodeJS.ProcessEnv = process.env): Database {
  return env.DATABASE_URL ? onServer(env.DATABASE_URL) : inFolder(env.PGLITE_FOLDER ?? "data");
}

function onServer(connectionString: string): Database {
  const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 1_000 });
  return {
    store: postgresStore(pool),
    query: (text, values) => pool.query(text, values),
    async migrate() {
      await pool.query(tables);
      await migrate(pool);
    },
    close: () => pool.end(),
  };
}

function inFolder(folder: string): Database {
  const pglite = new PGlite(folder);
  const database = fromPglite(pglite);
  return {
    store: postgresStore(database),
    query: (text, values) => pglite.query(text, values),
    async migrate() {
      await pglite.exec(tables);
      await migrate(database);
    },
    close: () => pglite.close(),
  };
}
