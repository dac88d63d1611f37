import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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
import { afterAll, expect, expectTypeOf, test } from "vitest";

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

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A project outside of the workspace, in which only these packages are installed. */
const project = realpathSync(mkdtempSync(join(tmpdir(), "svc-webhooks-types-")));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const install = (name: string) => {
  const from = join(root, "node_modules", name);
  const target = join(project, "node_modules", name);
  mkdirSync(join(target, ".."), { recursive: true });
  symlinkSync(realpathSync(from), target);
};

for (const name of ["@svc-webhooks/postgres", "@svc-webhooks/core"]) install(name);

const compiler = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: "ES2023",
  // The core's types use Request, Response, Headers and AbortSignal.
  lib: ["ES2023", "DOM"],
  module: "NodeNext",
  types: [],
  // The packages resolve like copies, without the workspace's own dependencies.
  preserveSymlinks: true,
};

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

test.each(["TypeScript 5.9", "TypeScript 7"])(
  "a program without any driver compiles with %s and skipLibCheck: false",
  (version) => {
    const folder = join(project, version.replaceAll(/\W/g, "-"));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "index.ts"), usage);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: compiler, include: ["index.ts"] }),
    );
    const tsc = join(
      root,
      "node_modules",
      version.endsWith("7") ? "typescript" : "typescript5",
      "bin/tsc",
    );
    const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", folder], {
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    expect(status).toBe(0);
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
