import { clientKinds, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { Client, Pool } from "pg";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { applyFile, claimed, contents, toVersion1, useServer } from "./support.js";

const key = "0123456789abcdef0123456789abcdef";
describeWithPostgres("migrate", () => {
  const server = useServer();
  const open = (index = 0) => {
    const client = clientKinds[index]?.open(server().connectionString) as TestStore;
    onTestFinished(() => client.close());
    return client;
  };
  const newPool = () => {
    const pool = new Pool({ connectionString: server().connectionString, max: 2 });
    onTestFinished(() => pool.end());
    return pool;
  };
  beforeEach(async () => {
    const pool = new Pool({ connectionString: server().connectionString, max: 1 });
    await pool.query("set client_min_messages = error; drop schema if exists svc_webhooks cascade");
    await pool.end();
  });

  describe.each(["read committed", "serializable"])(
    "with the default isolation %s",
    (isolation) => {
      test("of 10 clients applies the schema once", async () => {
        const pool = newPool();
        await pool.query(
          `alter database postgres set default_transaction_isolation = '${isolation}'`,
        );
        const clients = Array.from({ length: 10 }, (_value, index) =>
          open(index % clientKinds.length),
        );
        const results = await Promise.all(clients.map((client) => client.migrate()));
        expect(results.filter(Boolean)).toHaveLength(1);
        expect(await clients[0]?.migrate()).toBe(false);
        await pool.query("alter database postgres reset default_transaction_isolation");
      });
    },
  );

  test("makes what psql makes of schema.sql, and repeating either changes nothing", async () => {
    const pool = newPool();
    const now = async () => (await pool.query(contents("svc_webhooks"))).rows;
    await applyFile(server().connectionString);
    const applied = await now();
    expect(applied.length).toBeGreaterThan(20);
    await applyFile(server().connectionString);
    expect(await migrate(pool)).toBe(false);
    expect(await now()).toEqual(applied);
    await pool.query("drop schema svc_webhooks cascade");
    expect(await migrate(pool)).toBe(true);
    expect(await now()).toEqual(applied);
    await applyFile(server().connectionString);
    expect(await now()).toEqual(applied);
  });

  test("of an older version changes nothing of a newer schema, whose records it shares", async () => {
    const pool = newPool();
    await migrate(pool);
    // The migration of a next version may add a function and a column, like this one.
    await pool.query(`
      alter table svc_webhooks.deliveries add column note text;
      create function svc_webhooks.claim_2(id text) returns text language sql as $$ select 'c1 1' $$;
      insert into svc_webhooks.versions values (3)`);
    const before = (await pool.query(contents("svc_webhooks"))).rows;
    expect(await migrate(pool)).toBe(false);
    expect((await pool.query(contents("svc_webhooks"))).rows).toEqual(before);
    const store = postgresStore(pool);
    expect(await store.claim(key, claimBy("a"), call)).toMatchObject({ status: "claimed", run: 1 });
    expect(await store.complete(key, claimBy("a"), call)).toBe("owner");
    expect(await store.claim(key, claimBy("b"), call)).toMatchObject({ status: "done" });
    expect(await store.check()).not.toContainEqual(expect.stringContaining("version"));
  });

  test("replaces the functions of version 1 in place, whose records and calls stay valid", async () => {
    const pool = newPool();
    await migrate(pool);
    const current = (await pool.query(contents("svc_webhooks"))).rows;
    await pool.query(toVersion1);
    expect((await pool.query(contents("svc_webhooks"))).rows).not.toEqual(current);
    const older = postgresStore(newPool());
    const context = await claimed(older, { key });
    expect(await migrate(pool)).toBe(true);
    const { rows } = await pool.query("select version from svc_webhooks.versions order by 1");
    expect(rows).toEqual([{ version: 1 }, { version: 2 }]);
    await pool.query("delete from svc_webhooks.versions where version = 1");
    expect((await pool.query(contents("svc_webhooks"))).rows).toEqual(current);
    await older.transaction(context, async () => {});
    expect(await older.complete(key, claimBy("a"), call)).toBe("owner");
    expect(await postgresStore(pool).claim(key, claimBy("b"), call)).toMatchObject({
      status: "done",
    });
    expect(await migrate(pool)).toBe(false);
  });

  test.each([
    ["table", "drop table svc_webhooks.deliveries cascade"],
    ["index", "drop index svc_webhooks.deliveries_purge_hour"],
    ["index of the key", "alter table svc_webhooks.deliveries drop constraint deliveries_pkey"],
    ["function", "drop function svc_webhooks.finish_1"],
    ["search_path of a function", "alter function svc_webhooks.purge_1 reset search_path"],
    ["list of versions", "drop table svc_webhooks.versions"],
  ])("restores a lost %s", async (_name, statement) => {
    const pool = newPool();
    await migrate(pool);
    await pool.query(statement);
    expect(await migrate(pool)).toBe(true);
    const store = postgresStore(pool);
    const racing = ["a", "b"].map(async (token) => store.claim(key, claimBy(token), call));
    const results = (await Promise.all(racing)).map(({ status }) => status);
    expect(results.toSorted()).toEqual(["busy", "claimed"]);
    expect(await migrate(pool)).toBe(false);
  });

  test("of an older version rejects for a newer schema that is incomplete, and changes nothing", async () => {
    const pool = newPool();
    await migrate(pool);
    await pool.query(
      "drop function svc_webhooks.finish_1; insert into svc_webhooks.versions values (3)",
    );
    const before = (await pool.query(contents("svc_webhooks"))).rows;
    await expect(migrate(pool)).rejects.toMatchObject({
      code: "schema_taken",
      message: expect.stringMatching(/version 3, .* lacks finish_1\. Run `migrate` from the newer/),
    });
    expect((await pool.query(contents("svc_webhooks"))).rows).toEqual(before);
  });

  test.each([
    [
      "versions of dates",
      "create table svc_webhooks.versions (version bigint primary key, applied_at timestamptz); insert into svc_webhooks.versions values (20240101)",
      /version 20240101, .*"versions" belongs to another tool, choose another `schema`/,
    ],
    [
      "versions of texts",
      "create table svc_webhooks.versions (version text, applied_at date); insert into svc_webhooks.versions values ('1.2.3')",
      /version 1\.2\.3, .*"versions" belongs to another tool/,
    ],
    [
      "versions without a date",
      "create table svc_webhooks.versions (id int, version text)",
      /^The table "versions" .* no column applied_at\. Choose another `schema`/,
    ],
    [
      "deliveries",
      "create table svc_webhooks.deliveries (id int, state text)",
      /^The table "deliveries" .* no column fence, lease_ends_at, .*token\. Choose another `schema`/,
    ],
  ])("rejects for a schema with another tool's %s", async (_name, statement, message) => {
    const pool = newPool();
    await pool.query(`create schema svc_webhooks; ${statement}`);
    await expect(migrate(pool)).rejects.toMatchObject({
      code: "schema_taken",
      message: expect.stringMatching(message),
    });
    const { rows } = await pool.query(
      "select from pg_proc where pronamespace = 'svc_webhooks'::regnamespace",
    );
    expect(rows).toEqual([]);
  });

  test("needs no right to create schemas for one that the role owns", async () => {
    await newPool().query(
      "create role owner login; create schema svc_webhooks authorization owner",
    );
    const pool = new Pool({
      connectionString: server().connectionString.replace("postgres@", "owner@"),
    });
    onTestFinished(() => pool.end());
    expect(await migrate(pool)).toBe(true);
    await expect(migrate(pool, { schema: "another" })).rejects.toMatchObject({
      code: "permission_denied",
    });
    await newPool().query("drop owned by owner cascade; drop role owner");
  });

  test("makes schemas of any name, whose records are independent", async () => {
    const pool = newPool();
    const names = ["svc_webhooks", "select", "_", `a${"b".repeat(62)}`];
    const results = [];
    for (const schema of names) {
      await pool.query(`drop schema if exists "${schema}" cascade`);
      expect(await migrate(pool, { schema })).toBe(true);
      const store = postgresStore(pool, { schema });
      results.push(await store.claim(key, claimBy("a"), call));
      const { fence } = results.at(-1) as { fence: number };
      await store.transaction({ idempotencyKey: key, fence }, async () => {});
      results.push(await store.claim(key, claimBy("a"), call));
      expect(await migrate(pool, { schema })).toBe(false);
    }
    const pair = [{ status: "claimed", run: 1 }, { status: "done" }];
    expect(results).toMatchObject(names.flatMap(() => pair));
  });

  test.each([
    [
      "the advisory lock",
      "select pg_advisory_lock(hashtextextended('svc-webhooks schema svc_webhooks', 0))",
      "select pg_advisory_unlock_all()",
    ],
    ["a table", "begin; lock table svc_webhooks.deliveries in share mode", "rollback"],
  ])("rejects if another session holds %s", async (_name, take, leave) => {
    const pool = newPool();
    await migrate(pool);
    await pool.query("drop index svc_webhooks.deliveries_purge_hour");
    const other = new Client(server().connectionString);
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(take);
    await expect(migrate(pool)).rejects.toMatchObject({
      code: "lock_timeout",
      message: expect.stringContaining("pg_locks"),
      cause: expect.objectContaining({ code: "55P03" }),
    });
    await other.query(leave);
    expect(await migrate(pool)).toBe(true);
  });

  test("changes nothing if it fails", async () => {
    const pool = newPool();
    await pool.query("create schema svc_webhooks; create table svc_webhooks.hour_1 (a int)");
    // This type prevents the creation of functions that use it.
    await pool.query("create type svc_webhooks.deliveries as (a int)");
    await expect(migrate(pool)).rejects.toThrow(/deliveries/);
    const { rows } = await pool.query(
      "select relname from pg_class where relnamespace = 'svc_webhooks'::regnamespace order by 1",
    );
    expect(rows).toEqual([{ relname: "deliveries" }, { relname: "hour_1" }]);
  });
});
