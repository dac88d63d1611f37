import { mkdirSync, rmSync } from "node:fs";
import { call, claimBy, observedReceiver } from "@svc-webhooks/kit/receivers";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { migrate, sqliteStore, type RunIdentity, type SqliteDatabase } from "@svc-webhooks/sqlite";
import { expect, test } from "vitest";
import {
  claimed,
  effects,
  insert,
  key,
  newDelivery,
  openStore,
  receiverOver,
  states,
  type TestDatabase,
} from "./support.js";

/** The type of a `work` that JavaScript callers pass although the types refuse it. */
type AnyWork = (db: SqliteDatabase) => undefined;

test.each<[string, unknown]>([
  ["an async function", async (db: SqliteDatabase) => db.exec("insert into effects values ('a')")],
  [
    "a generator",
    function* work(db: SqliteDatabase) {
      yield db;
    },
  ],
  ["nothing", undefined],
])("transaction refuses %s before it begins", async (_what, work) => {
  const { db, store } = openStore();
  const context = await claimed(store);
  expect(() => store.transaction(context, work as AnyWork)).toThrow(
    expect.objectContaining({ code: "invalid_option", option: "work" }),
  );
  expect([effects(db), states(db)]).toEqual([[], ["r"]]);
});

test.each<[string, (db: TestDatabase["db"]) => unknown]>([
  [
    "rolls back if work returns a promise, whose rejection ends no process",
    (db) => {
      insert(db, "a");
      return Promise.reject(new Error("later"));
    },
  ],
  [
    "does not start a query that work returns",
    (db) => ({
      // A query builder runs its query when something calls `then`.
      // oxlint-disable-next-line unicorn/no-thenable
      then: () => insert(db, "a"),
    }),
  ],
])("transaction %s", async (_what, work) => {
  const { db, store } = openStore();
  const context = await claimed(store);
  expect(() => store.transaction(context, work as AnyWork)).toThrow(
    expect.objectContaining({ code: "asynchronous_work" }),
  );
  await new Promise(setImmediate);
  expect([effects(db), states(db)]).toEqual([[], ["r"]]);
});

test("an iterator that the application keeps open is named as the cause", async () => {
  const { db, file, store } = openStore({ busyTimeoutMs: 0 });
  const context = await claimed(store);
  insert(db, "a");
  insert(db, "b");
  const rows = db.prepare("select name from effects").iterate();
  rows.next();
  insert(openSqlite(file), "c");
  expect(() => store.transaction(context, () => {})).toThrow(
    expect.objectContaining({ code: "statement_open" }),
  );
  rows.return?.();
  store.transaction(context, (tx) => insert(tx, "d"));
  expect([effects(db), states(db)]).toEqual([["a", "b", "c", "d"], ["d"]]);
});

test("check waits for no writer, and leaves a transaction of the application alone", async () => {
  const { db, file, store } = openStore({ busyTimeoutMs: 60_000 });
  const other = openSqlite(file);
  other.exec("begin immediate");
  expect(store.check()).toEqual([]);
  other.exec("commit");
  db.exec("begin");
  expect(store.check()).toEqual([]);
  // The transaction has not become one that writes.
  insert(other, "a");
  db.exec("commit");
  expect(store.check()).toEqual([]);
});

test.each([
  ["commit", ["a"]],
  ["rollback", []],
  ["commit; begin; insert into effects values ('b')", ["a"]],
])("a work that ends its transaction with %s does not complete the delivery", async (sql, kept) => {
  const { db, store } = openStore();
  const context = await claimed(store);
  const run = () =>
    store.transaction(context, (tx) => {
      insert(tx, "a");
      tx.exec(sql);
    });
  expect(run).toThrow(expect.objectContaining({ code: "transaction_ended" }));
  expect([effects(db), states(db), db.isTransaction]).toEqual([kept, ["r"], false]);
});

test.each<[string, unknown, object]>([
  ["a copy without getters", {}, { code: "invalid_option", option: "context" }],
  ["nothing", undefined, { code: "invalid_option", option: "context" }],
  ["a fence that is no number", { idempotencyKey: key, fence: "1" }, { code: "invalid_option" }],
  ["a context without a claim", { idempotencyKey: key }, { code: "not_claimed" }],
  [
    "the context of an unknown delivery",
    { idempotencyKey: key, fence: 1 },
    { code: "transaction_lost" },
  ],
])("transaction refuses %s", (_what, context, error) => {
  const { store } = openStore();
  expect(() => store.transaction(context as never, () => {})).toThrow(
    expect.objectContaining(error),
  );
});

test("a transaction of the application keeps the store's calls out of it", async () => {
  const { db, store } = openStore();
  const context = await claimed(store);
  db.exec("begin");
  insert(db, "mine");
  const refused = expect.objectContaining({ code: "transaction_open" });
  expect(() => store.claim("f".repeat(32), claimBy("b"), call)).toThrow(refused);
  expect(() => store.complete(key, claimBy("a"), call)).toThrow(refused);
  expect(() => store.transaction(context, () => {})).toThrow(refused);
  expect(() => store.purge()).toThrow(refused);
  expect(() => sqliteStore(db)).toThrow(refused);
  db.exec("commit");
  expect([effects(db), states(db)]).toEqual([["mine"], ["r"]]);
  expect(store.complete(key, claimBy("a"), call)).toBe("owner");
});

test.each<[string, (store: TestDatabase["store"], context: RunIdentity) => unknown]>([
  ["complete", (store) => store.complete(key, claimBy("a"), call)],
  ["forget", (store) => store.forget(key, call)],
  ["transaction", (store, context) => store.transaction(context, () => {})],
  ["purge", (store) => store.purge()],
])("%s takes no lock for a transaction of the application that only reads", async (_name, use) => {
  const { db, file, store } = openStore();
  const context = await claimed(store);
  db.exec("begin");
  expect(effects(db)).toEqual([]);
  expect(() => use(store, context)).toThrow(expect.objectContaining({ code: "transaction_open" }));
  insert(openSqlite(file), "a");
  db.exec("commit");
  expect(effects(db)).toEqual(["a"]);
});

test("a transaction inside another one is refused, and both are rolled back", async () => {
  const { db, store } = openStore();
  const context = await claimed(store);
  const run = () =>
    store.transaction(context, (tx) => {
      insert(tx, "outer");
      store.transaction(context, () => insert(tx, "inner"));
    });
  expect(run).toThrow(expect.objectContaining({ code: "transaction_open" }));
  expect([effects(db), states(db)]).toEqual([[], ["r"]]);
});

test("a database without the tables names migrate, and works after it", async () => {
  const db = openSqlite();
  const store = sqliteStore(db);
  const missing = { code: "schema_missing", message: expect.stringContaining("migrate(db)") };
  expect(() => store.claim(key, claimBy("a"), call)).toThrow(expect.objectContaining(missing));
  const { receive, lines } = observedReceiver({ store });
  expect(await receive()).toMatchObject({ status: 503, code: "store_unavailable" });
  expect(lines.join()).toContain("migrate(db)");
  migrate(db);
  expect((await receive()).code).toBe("processed");
});

test("a database of a newer version is refused by every part", () => {
  const { db, file } = openStore();
  db.exec("insert into svc_webhooks_versions (version) values (3)");
  const newer = expect.objectContaining({ code: "schema_newer" });
  const other = openSqlite(file);
  const store = sqliteStore(other);
  expect(() => migrate(other)).toThrow(newer);
  expect(() => store.claim(key, claimBy("a"), call)).toThrow(newer);
  expect(() => store.transaction({ idempotencyKey: key, fence: 1 }, () => {})).toThrow(newer);
  expect(store.check()).toEqual([expect.stringContaining("version 2")]);
});

test.each(["a read-only connection", "query_only"])("%s is refused with the fix", async (how) => {
  const { file } = openStore();
  const db = openSqlite(file, { readOnly: how !== "query_only" });
  if (how === "query_only") db.exec("pragma query_only = on");
  const store = sqliteStore(db);
  const readOnly = expect.objectContaining({ code: "read_only" });
  expect(() => store.claim(key, claimBy("a"), call)).toThrow(readOnly);
  expect(() => store.purge()).toThrow(readOnly);
  expect(migrate(db)).toBe(false);
  expect(store.check()).toEqual([expect.stringContaining("cannot be written to")]);
});

test("migrate of a read-only database is refused", () => {
  const file = sqliteFile();
  openSqlite(file).exec("create table mine (id)");
  const db = openSqlite(file, { readOnly: true });
  expect(() => migrate(db)).toThrow(expect.objectContaining({ code: "read_only" }));
});

test("a file whose log cannot be opened is refused with the fix", () => {
  const { file, db } = openStore();
  db.close();
  for (const name of ["wal", "shm"]) rmSync(`${file}-${name}`, { force: true });
  // Like a file of another user, a folder of this name cannot be opened.
  mkdirSync(`${file}-wal`);
  const other = openSqlite(file);
  const refused = expect.objectContaining({
    code: "cannot_open",
    message: expect.stringContaining("write permission for all three and for their folder"),
  });
  expect(() => sqliteStore(other)).toThrow(refused);
  expect(() => migrate(other)).toThrow(refused);
});

test("a closed database is refused by every part", async () => {
  const { db, store } = openStore();
  const context = await claimed(store);
  db.close();
  const closed = expect.objectContaining({ code: "database_closed" });
  expect(() => store.claim(key, claimBy("b"), call)).toThrow(closed);
  expect(() => store.complete(key, claimBy("a"), call)).toThrow(closed);
  expect(() => store.transaction(context, () => {})).toThrow(closed);
  expect(() => store.purge()).toThrow(closed);
  expect(() => store.check()).toThrow(closed);
  expect(() => sqliteStore(db)).toThrow(closed);
  expect(() => migrate(db)).toThrow(closed);
});

test("a connection that was closed and opened again works, with the store's settings", async () => {
  const { db, store } = openStore({ busyTimeoutMs: 1_234 });
  const first = await claimed(store);
  store.transaction(first, (tx) => insert(tx, "a"));
  const setting = (name: string) => Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0];
  const reopen = () => {
    db.close();
    db.open();
    db.exec("pragma synchronous = off");
  };
  reopen();
  expect(store.purge()).toBe(0);
  expect([setting("busy_timeout"), setting("synchronous")]).toEqual([1_234, 2]);
  reopen();
  const second = await claimed(store, { of: "f".repeat(32) });
  expect([setting("busy_timeout"), setting("synchronous")]).toEqual([1_234, 2]);
  store.transaction(second, (tx) => insert(tx, "b"));
  reopen();
  expect(store.complete("e".repeat(32), claimBy("a"), call)).toBe("restored");
  expect([setting("busy_timeout"), setting("synchronous")]).toEqual([1_234, 2]);
  expect([effects(db), states(db)]).toEqual([
    ["a", "b"],
    ["d", "d", "d"],
  ]);
});

test("without a write-ahead log, claims wait for the disk", async () => {
  const { db } = openStore();
  const isLazy = async (of: string) => {
    const statements: string[] = [];
    const store = sqliteStore({
      prepare: (sql) => db.prepare(sql),
      exec(sql) {
        statements.push(sql);
        db.exec(sql);
      },
    });
    await claimed(store, { of });
    return statements.some((sql) => /synchronous=normal/i.test(sql));
  };
  expect(await isLazy("a".repeat(32))).toBe(true);
  db.exec("pragma journal_mode = delete");
  expect(await isLazy("b".repeat(32))).toBe(false);
});

test("a handler whose transaction is refused fails its run, and the sender tries again", async () => {
  const { db, store } = openStore();
  const { receiveAll } = receiverOver(store, (context) =>
    context.run === 1
      ? store.transaction(context, (async () => {}) as unknown as AnyWork)
      : store.transaction(context, (tx) => insert(tx, "a")),
  );
  const delivery = newDelivery();
  expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "processed"]);
  expect(effects(db)).toEqual(["a"]);
});
