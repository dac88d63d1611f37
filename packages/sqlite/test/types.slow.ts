import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, tsc, type Compiler } from "@svc-webhooks/kit/programs";
import { sqliteStore, type SqliteDatabase, type SqliteStore } from "@svc-webhooks/sqlite";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { afterAll, expect, expectTypeOf, test } from "vitest";

// This is never called: the connections are types only.
const stores = (photostructure: DatabaseSyncInstance, own: SqliteDatabase) => ({
  photostructure: sqliteStore(photostructure),
  own: sqliteStore(own),
});

type Stores = ReturnType<typeof stores>;
type DbOfStore<Store> = Store extends SqliteStore<infer Db> ? Db : never;

test("work receives the type of the connection", () => {
  expectTypeOf<DbOfStore<Stores["photostructure"]>>().toEqualTypeOf<DatabaseSyncInstance>();
  expectTypeOf<DbOfStore<Stores["own"]>>().toEqualTypeOf<SqliteDatabase>();
});

const context = { idempotencyKey: "", fence: 1 };

test("transaction returns the result of work, and accepts no promise", () => {
  const sync = (store: Stores["own"]) => store.transaction(context, () => 1);
  expectTypeOf(sync).returns.toEqualTypeOf<number>();
  const nothing = (store: Stores["own"]) => store.transaction(context, () => {});
  expectTypeOf(nothing).returns.toEqualTypeOf<void>();
  const refused = (store: Stores["own"]) => [
    // @ts-expect-error An async function is refused.
    store.transaction(context, async () => 1),
    // @ts-expect-error A function that returns a promise is refused.
    store.transaction(context, () => Promise.resolve(1)),
  ];
  expectTypeOf(refused).toBeFunction();
});

/** A project outside of the workspace, in which only these packages are installed. */
const project = realpathSync(mkdtempSync(join(tmpdir(), "svc-webhooks-types-")));
afterAll(() => rmSync(project, { recursive: true, force: true }));

for (const name of ["@svc-webhooks/sqlite", "@svc-webhooks/core"]) {
  const target = join(project, "node_modules", name);
  mkdirSync(join(target, ".."), { recursive: true });
  symlinkSync(realpathSync(join(root, "node_modules", name)), target);
}

const compilerOptions = {
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
  import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
  interface Own {
    exec(sql: string): void;
    prepare(sql: string): { run(...values: unknown[]): { changes: number }; get(...values: unknown[]): unknown };
    readonly mine: true;
  }
  declare const db: Own;
  export const store = sqliteStore(db, { busyTimeoutMs: 1_000 });
  export const mine: true = store.transaction({ idempotencyKey: "", fence: 1 }, (tx) => tx.mine);
  export const migrated: boolean = migrate(db);
`;

/** Compiles a module of the project. Resolves to what the compiler prints. */
async function compile(compiler: Compiler, name: string, code: string) {
  const folder = join(project, `${name}-${compiler}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "index.ts"), code);
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, include: ["index.ts"] }),
  );
  const { stdout, exitCode } = await tsc(compiler, ["-p", folder], { cwd: folder });
  return { stdout, exitCode };
}

const compilers = ["typescript", "typescript5"] as const;

test.each(compilers)(
  "a program without any driver compiles with %s and skipLibCheck: false",
  async (compiler) => {
    expect(await compile(compiler, "usage", usage)).toEqual({ stdout: "", exitCode: 0 });
  },
);

test.each(compilers)("%s names the promise of an asynchronous work", async (compiler) => {
  const asynchronous = usage.replace("(tx) => tx.mine", "async (tx) => tx.mine");
  const { stdout, exitCode } = await compile(compiler, "asynchronous", asynchronous);
  expect(exitCode).not.toBe(0);
  expect(stdout).toContain(
    "'\"`work` returns a promise, but must be synchronous. Await everything before `transaction`.\"'",
  );
});
