export { postgresStore } from "./postgres-store.js";
export type {
  PostgresStore,
  PostgresStoreOptions,
  RunIdentity,
  Statement,
} from "./postgres-store.js";
export { migrate } from "./migrate.js";
export type { MigrateOptions } from "./migrate.js";
export { TransactionLost } from "./errors.js";
export type { PostgresClient } from "./connect.js";
export type { Database, Query, Row, TransactionOptions } from "./database.js";
export { fromDrizzle } from "./drivers/drizzle.js";
export type { Drizzle, DrizzleQueries } from "./drivers/drizzle.js";
export { fromKysely } from "./drivers/kysely.js";
export type { Kysely, KyselyQueries } from "./drivers/kysely.js";
export { fromPglite } from "./drivers/pglite.js";
export type { Pglite, PgliteQueries } from "./drivers/pglite.js";
export type { ClientOf, PgClient, PgPool } from "./drivers/node-postgres.js";
export type { PostgresJs, TxOf } from "./drivers/postgres-js.js";
