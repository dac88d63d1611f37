import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { root } from "@svc-webhooks/kit/programs";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { key } from "./support.js";

const contents = (db: DatabaseSyncInstance) =>
  db.prepare("select sql from sqlite_master order by name").all();

test("migrate creates the tables once, and says whether it did", () => {
  const db = openSqlite();
  expect([migrate(db), migrate(db)]).toEqual([true, false]);
  expect(Object.values(db.prepare("pragma journal_mode").get() ?? {})).toEqual(["wal"]);
});

test("migrate leaves the application's tables, its versions and its records alone", () => {
  const db = openSqlite();
  db.exec(
    "create table mine (id); insert into mine values (1); pragma user_version = 7; pragma application_id = 8",
  );
  migrate(db);
  const store = sqliteStore(db);
  void store.complete(key, claimBy("a"), call);
  migrate(db);
  expect(db.prepare("select * from mine").all()).toHaveLength(1);
  expect(db.prepare("pragma user_version").get()).toEqual({ user_version: 7 });
  expect(db.prepare("pragma application_id").get()).toEqual({ application_id: 8 });
  expect(store.claim(key, claimBy("b"), call)).toMatchObject({ status: "done" });
});

test("schema.sql creates what migrate creates", () => {
  const [byMigrate, byFile] = [openSqlite(), openSqlite()];
  migrate(byMigrate);
  const file = readFileSync(fileURLToPath(new URL("../schema.sql", import.meta.url)), "utf8");
  byFile.exec(file);
  byFile.exec(file);
  expect(contents(byFile)).toEqual(contents(byMigrate));
  expect(migrate(byFile)).toBe(false);
});

test("of processes that migrate at the same time, one applies the changes", async () => {
  const file = sqliteFile();
  const script = `
    import { DatabaseSync } from "@photostructure/sqlite";
    import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
    const db = new DatabaseSync(${JSON.stringify(file)});
    const store = sqliteStore(db, { busyTimeoutMs: 60_000 });
    console.log(migrate(db), store.check().length);`;
  const run = () =>
    promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { cwd: root });
  const results = await Promise.all(Array.from({ length: 5 }, run));
  expect(results.map(({ stdout }) => stdout.trim()).toSorted()).toEqual([
    ...Array(4).fill("false 0"),
    "true 0",
  ]);
});

test("migrate refuses a connection that is in a transaction", () => {
  const db = openSqlite();
  db.exec("begin");
  expect(() => migrate(db)).toThrow(expect.objectContaining({ code: "transaction_open" }));
  db.exec("rollback");
  expect(migrate(db)).toBe(true);
});
