import { rmSync } from "node:fs";
import { ConfigError } from "@svc-webhooks/core";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { openSqlite } from "@svc-webhooks/kit/sqlite";
import {
  migrate,
  sqliteStore,
  type SqliteDatabase,
  type SqliteStoreOptions,
} from "@svc-webhooks/sqlite";
import { drizzle } from "drizzle-orm/node-postgres";
import { Kysely, SqliteDialect } from "kysely";
import { PGlite } from "@electric-sql/pglite";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { key, openStore } from "./support.js";

const asynchronous = {
  exec: async () => {},
  prepare: () => ({ run: async () => {}, get: async () => ({ one: 1 }) }),
};

test.each<[string, unknown, string]>([
  ["undefined", undefined, "`db` must be an open, synchronous SQLite connection"],
  ["null", null, "`db` must be an open, synchronous SQLite connection"],
  ["the name of a file", "app.db", "new DatabaseSync(file)"],
  ["an object", {}, "`db` must be an open, synchronous SQLite connection"],
  ["an asynchronous client", asynchronous, "`db` must be an open, synchronous SQLite connection"],
  ["a pool of pg", new Pool({ host: "127.0.0.1", port: 1 }), "`db` must be an open, synchronous"],
  ["PGlite", new PGlite(), "`db` must be an open, synchronous"],
  ["Drizzle", drizzle(new Pool({ host: "127.0.0.1", port: 1 })), "db.$client"],
  [
    "Kysely",
    new Kysely({ dialect: new SqliteDialect({ database: {} as never }) }),
    "that its dialect uses",
  ],
])("names the fix for the database %s", (_name, given, fix) => {
  const db = given as SqliteDatabase;
  for (const use of [() => sqliteStore(db), () => migrate(db)]) {
    expect(use).toThrow(ConfigError);
    expect(use).toThrow(expect.objectContaining({ code: "invalid_option", option: "db" }));
    expect(use).toThrow(fix);
  }
});

test.each<[unknown, string, string]>([
  [{ busyTimeoutMs: -1 }, "invalid_option", "busyTimeoutMs"],
  [{ busyTimeoutMs: 60_001 }, "invalid_option", "busyTimeoutMs"],
  [{ busyTimeoutMs: 1.5 }, "invalid_option", "busyTimeoutMs"],
  [{ busyTimeoutMs: "1" }, "invalid_option", "busyTimeoutMs"],
  [{ synchronous: "off" }, "invalid_option", "synchronous"],
  [{ synchronous: "FULL; drop table emails" }, "invalid_option", "synchronous"],
  [{ durableClaims: "yes" }, "invalid_option", "durableClaims"],
  [{ busyTimeout: 1 }, "unknown_option", "busyTimeout"],
  [null, "invalid_option", "options"],
])("rejects the options %j", (options, code, option) => {
  const build = () => sqliteStore(openSqlite(), options as SqliteStoreOptions);
  expect(build).toThrow(expect.objectContaining({ code, option }));
});

test.each<[unknown, string]>([
  [{ limit: 0 }, "invalid_option"],
  [{ limit: 1.5 }, "invalid_option"],
  [{ limit: 1_000_001 }, "invalid_option"],
  [{ limt: 1 }, "unknown_option"],
])("purge rejects %j", (options, code) => {
  const { store } = openStore();
  expect(() => store.purge(options as { limit: number })).toThrow(
    expect.objectContaining({ code }),
  );
});

const pragmas = (db: SqliteDatabase) =>
  ["synchronous", "busy_timeout"].map(
    (name) => Object.values(Object(db.prepare(`pragma ${name}`).get()) as object)[0],
  );

test.each<[SqliteStoreOptions, readonly number[]]>([
  [{}, [2, 5_000]],
  [{ synchronous: "normal", busyTimeoutMs: 0 }, [1, 0]],
  [{ busyTimeoutMs: 60_000 }, [2, 60_000]],
])("with the options %j the connection has these settings", (options, expected) => {
  const db = openSqlite();
  db.exec("pragma synchronous = off; pragma busy_timeout = 1");
  sqliteStore(db, options);
  expect(pragmas(db)).toEqual(expected);
});

test.each<[string, SqliteStoreOptions]>([
  ["synchronous", { synchronous: "normal" }],
  ["busyTimeoutMs", { busyTimeoutMs: 1 }],
])("a second store on a connection cannot change %s", (option, options) => {
  const { file, db } = openStore();
  expect(() => sqliteStore(db, options)).toThrow(
    expect.objectContaining({ code: "invalid_option", option }),
  );
  expect(() => sqliteStore(db, options)).toThrow("open a connection for each");
  expect(pragmas(db)).toEqual([2, 5_000]);
  sqliteStore(db, { durableClaims: true });
  sqliteStore(openSqlite(file), options);
});

test("check finds nothing in a healthy database", () => {
  expect(openStore().store.check()).toEqual([]);
});

test.each<[string, (db: SqliteDatabase) => unknown, string]>([
  ["no tables", (db) => db.exec("drop table svc_webhooks_versions"), "Run `migrate(db)`"],
  [
    "no table of records",
    (db) => db.exec("drop table svc_webhooks_deliveries"),
    "Run `migrate(db)`",
  ],
  ["another journal", (db) => db.exec("pragma journal_mode = delete"), "journal_mode is delete"],
  ["its danger", (db) => db.exec("pragma journal_mode = delete"), "can corrupt the file"],
  [
    "commits that do not wait",
    (db) => db.exec("pragma synchronous = normal"),
    "synchronous is below FULL",
  ],
])("check names %s", (_what, change, text) => {
  const { db, store } = openStore();
  change(db);
  expect(store.check()).toEqual([expect.stringContaining(text)]);
});

test("check names a database in memory", () => {
  const db = openSqlite(":memory:");
  const store = sqliteStore(db);
  migrate(db);
  expect(store.check()).toEqual([expect.stringContaining("in memory")]);
});

test("check names a file that was deleted while it is open", async () => {
  const { file, store } = openStore();
  rmSync(file);
  // SQLite does not notice.
  expect(await store.claim(key, claimBy("a"), call)).toMatchObject({ status: "claimed" });
  expect(store.check()).toEqual([expect.stringContaining(`${file} was deleted`)]);
});

test("check works inside a transaction of the application, and leaves it open", () => {
  const { db, store } = openStore();
  db.exec("begin; insert into effects values ('a')");
  expect(store.check()).toEqual([]);
  db.exec("commit");
  expect(db.prepare("select * from effects").all()).toHaveLength(1);
});
