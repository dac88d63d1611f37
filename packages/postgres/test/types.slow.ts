import { fileURLToPath } from "node:url";
import { compilers, typeProject } from "@svc-webhooks/kit/type-project";
import {
  fromDrizzle,
  fromKysely,
  fromPglite,
  postgresStore,
  type Database,
  type PostgresStore,
} from "@svc-webhooks/postgres";
import type { PGlite, Transaction as PgliteTransaction } from "@electric-sql/pglite";
import { sql as drizzleSql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";
import { CompiledQuery, type Kysely, type Transaction } from "kysely";
import type { Pool, PoolClient } from "pg";
import type { Sql, TransactionSql } from "postgres";
import ts from "typescript5";
import { expect, expectTypeOf, test } from "vitest";

interface Tables {
  readonly contacts: { readonly id: string };
}

// This is never called: the clients are types only. TypeScript 7 compiles them with the tests.
const stores = (
  pool: Pool,
  sql: Sql,
  kysely: Kysely<Tables>,
  drizzlePg: NodePgDatabase,
  drizzlePostgresJs: PostgresJsDatabase,
  pglite: PGlite,
  own: Database<{ readonly mine: true }>,
) => ({
  pg: postgresStore(pool),
  postgresJs: postgresStore(sql),
  kysely: postgresStore(fromKysely(kysely, CompiledQuery)),
  drizzlePg: postgresStore(fromDrizzle(drizzlePg, drizzleSql)),
  drizzlePostgresJs: postgresStore(fromDrizzle(drizzlePostgresJs, drizzleSql)),
  pglite: postgresStore(fromPglite(pglite)),
  own: postgresStore(own),
});

type Stores = ReturnType<typeof stores>;
type TxOfStore<Store> = Store extends PostgresStore<infer Tx> ? Tx : never;
type DrizzleTx<Db extends { transaction(work: never): unknown }> = Parameters<
  Parameters<Db["transaction"]>[0]
>[0];

test("tx has the type of the client's own transactions", () => {
  expectTypeOf<TxOfStore<Stores["pg"]>>().toEqualTypeOf<PoolClient>();
  expectTypeOf<TxOfStore<Stores["postgresJs"]>>().toEqualTypeOf<TransactionSql>();
  expectTypeOf<TxOfStore<Stores["kysely"]>>().toEqualTypeOf<Transaction<Tables>>();
  expectTypeOf<TxOfStore<Stores["drizzlePg"]>>().toEqualTypeOf<DrizzleTx<NodePgDatabase>>();
  expectTypeOf<TxOfStore<Stores["drizzlePostgresJs"]>>().toEqualTypeOf<
    DrizzleTx<PostgresJsDatabase>
  >();
  expectTypeOf<TxOfStore<Stores["pglite"]>>().toEqualTypeOf<PgliteTransaction>();
  expectTypeOf<TxOfStore<Stores["own"]>>().toEqualTypeOf<{ readonly mine: true }>();
});

test("transaction resolves to the result of work", () => {
  const run = (store: PostgresStore<PoolClient>) =>
    store.transaction({ idempotencyKey: "", fence: 1 }, async () => 1);
  expectTypeOf(run).returns.toEqualTypeOf<Promise<number>>();
});

const compile = typeProject("@svc-webhooks/postgres", "@svc-webhooks/core");

const usage = `
  import { migrate, postgresStore, type Database } from "@svc-webhooks/postgres";
  declare const database: Database<{ run(text: string): Promise<void> }>;
  export const store = postgresStore(database, { schema: "hooks" });
  export const done: Promise<string> = store.transaction(
    { idempotencyKey: "", fence: 1 },
    async (tx) => {
      await tx.run("insert");
      return "done";
    },
  );
  export const migrated: Promise<boolean> = migrate(database);
`;

test.each(compilers)(
  "a program without any driver compiles with %s and skipLibCheck: false",
  async (compiler) => {
    expect(await compile(compiler, "usage", usage)).toEqual({ stdout: "", exitCode: 0 });
  },
);

test("tx has these types with TypeScript 5.9 too", () => {
  const path = fileURLToPath(import.meta.url);
  const program = ts.createProgram([path], {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    module: ts.ModuleKind.NodeNext,
    types: ["node"],
  });
  const source = program.getSourceFile(path);
  const errors = program
    .getSemanticDiagnostics(source)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  expect(errors).toEqual([]);
});
