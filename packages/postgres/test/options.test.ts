import { PGlite } from "@electric-sql/pglite";
import { ConfigError } from "@svc-webhooks/core";
import {
  fromDrizzle,
  fromKysely,
  fromPglite,
  migrate,
  postgresStore,
  type PostgresClient,
  type PostgresStoreOptions,
} from "@svc-webhooks/postgres";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle as drizzleOverPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { Client, Pool } from "pg";
import postgres from "postgres";
import { expect, test } from "vitest";

const pool = new Pool({ host: "127.0.0.1", port: 1 });
const sql = postgres("postgres://127.0.0.1:1/none");
const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });

test.each<[string, unknown, string]>([
  ["undefined", undefined, "`db` must be a Pool from pg"],
  ["null", null, "`db` must be a Pool from pg"],
  ["a text", "postgres://localhost", "`db` must be a Pool from pg"],
  ["an object", {}, "`db` must be a Pool from pg"],
  ["a function", () => {}, "`db` must be a Pool from pg"],
  ["Kysely", kysely, "fromKysely(db, CompiledQuery, pool)"],
  ["Drizzle over pg", drizzleOverPg(pool), "fromDrizzle(db, sql)"],
  ["Drizzle over postgres.js", drizzleOverPostgresJs(sql), "fromDrizzle(db, sql)"],
  ["PGlite", new PGlite(), "fromPglite(db)"],
  ["a Client of pg", new Client(), "Pass a Pool"],
])("names the fix for the client %s", async (_name, client, fix) => {
  const db = client as Pool;
  const invalid = expect.objectContaining({ code: "invalid_option", option: "db" });
  expect(() => postgresStore(db)).toThrow(ConfigError);
  expect(() => postgresStore(db)).toThrow(invalid);
  expect(() => postgresStore(db)).toThrow(fix);
  await expect(migrate(db)).rejects.toEqual(invalid);
});

test("refuses Drizzle over a single client, whose transactions would mix", () => {
  const build = () => fromDrizzle(drizzleOverPg(new Client()), drizzleSql);
  expect(build).toThrow(expect.objectContaining({ code: "invalid_option", option: "db" }));
  expect(build).toThrow("Pass a Pool");
});

test.each<[string, PostgresClient]>([
  ["a Pool of pg", pool],
  ["postgres.js", sql],
  ["Kysely", fromKysely(kysely, CompiledQuery)],
  ["Drizzle over pg", fromDrizzle(drizzleOverPg(pool), drizzleSql)],
  ["Drizzle over postgres.js", fromDrizzle(drizzleOverPostgresJs(sql), drizzleSql)],
  ["PGlite", fromPglite(new PGlite())],
  ["a Database", { query: async () => [], transaction: () => Promise.reject(new Error("none")) }],
])("accepts %s, and does not connect it", (_name, client) => {
  expect(postgresStore(client as Pool).shared).toBe(true);
  expect(pool.totalCount).toBe(0);
});

test.each<[unknown, string, string]>([
  [{ schema: "" }, "invalid_option", "schema"],
  [{ schema: "1a" }, "invalid_option", "schema"],
  [{ schema: "Upper" }, "invalid_option", "schema"],
  [{ schema: 'a"; drop schema public; --' }, "invalid_option", "schema"],
  [{ schema: "a\n" }, "invalid_option", "schema"],
  [{ schema: "a".repeat(64) }, "invalid_option", "schema"],
  [{ schema: "pg_x" }, "invalid_option", "schema"],
  [{ schema: "information_schema" }, "invalid_option", "schema"],
  [{ schema: null }, "invalid_option", "schema"],
  [{ schema: 1 }, "invalid_option", "schema"],
  [{ durableClaims: "yes" }, "invalid_option", "durableClaims"],
  [{ prepare: "yes" }, "invalid_option", "prepare"],
  [{ shema: "a" }, "unknown_option", "shema"],
  [null, "invalid_option", "options"],
  ["a", "invalid_option", "options"],
])("rejects the options %j", (options, code, option) => {
  const build = () => postgresStore(pool, options as PostgresStoreOptions);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }));
});

test.each<[string, unknown]>([
  ["Kysely", fromKysely(kysely, CompiledQuery, pool)],
  ["Drizzle", fromDrizzle(drizzleOverPg(pool), drizzleSql)],
  ["PGlite", fromPglite(new PGlite())],
])("refuses `prepare` for %s, which does not name statements", (_name, client) => {
  const build = () => postgresStore(client as Pool, { prepare: true });
  expect(build).toThrow(expect.objectContaining({ code: "invalid_option", option: "prepare" }));
  expect(build).toThrow("Remove `prepare`");
});

test("accepts `prepare` for postgres.js after another store has turned off its names", () => {
  const unnamed = postgres("postgres://127.0.0.1:1/none", { prepare: false });
  expect(() => postgresStore(unnamed, { prepare: true })).not.toThrow();
});

test.each<[unknown, string]>([
  [{ limit: 0 }, "invalid_option"],
  [{ limit: 1.5 }, "invalid_option"],
  [{ limit: 1_000_001 }, "invalid_option"],
  [{ limit: "1" }, "invalid_option"],
  [{ limt: 1 }, "unknown_option"],
])("purge rejects %j", async (options, code) => {
  await expect(postgresStore(pool).purge(options as { limit: number })).rejects.toMatchObject({
    code,
  });
});

test("migrate rejects unknown options and names", async () => {
  await expect(migrate(pool, { schema: "A" })).rejects.toMatchObject({ option: "schema" });
  await expect(migrate(pool, { name: "a" } as object)).rejects.toMatchObject({
    code: "unknown_option",
  });
});

test("adds one listener to a pool, however often it is passed", async () => {
  const shared = new Pool({ host: "127.0.0.1", port: 1 });
  for (let count = 0; count < 20; count += 1) {
    postgresStore(shared);
    postgresStore(fromDrizzle(drizzleOverPg(shared), drizzleSql));
    await migrate(shared).catch(() => {});
  }
  expect(shared.listenerCount("error")).toBe(1);
  expect(shared.listenerCount("connect")).toBe(1);
});
