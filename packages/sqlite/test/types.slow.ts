import { compilers, typeProject } from "@svc-webhooks/kit/type-project";
import { sqliteStore, type SqliteDatabase, type SqliteStore } from "@svc-webhooks/sqlite";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { expect, expectTypeOf, test } from "vitest";

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

const compile = typeProject("@svc-webhooks/sqlite", "@svc-webhooks/core");

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
