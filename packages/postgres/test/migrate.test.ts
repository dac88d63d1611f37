import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { clientKinds, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres, type PostgresServer } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useServer } from "./support.js";

const key = "0123456789abcdef0123456789abcdef";
const file = fileURLToPath(new URL("../schema.sql", import.meta.url));

const folders = "/usr/lib/postgresql";
const newest = existsSync(folders)
  ? readdirSync(folders).toSorted((a, b) => Number(b) - Number(a))[0]
  : undefined;
const psql = newest ? `${folders}/${newest}/bin/psql` : "psql";

const apply = ({ connectionString }: PostgresServer) =>
  promisify(execFile)(psql, [connectionString, "-q", "-v", "ON_ERROR_STOP=1", "-f", file]);

/** Everything in a schema: columns, indexes, constraints, settings, functions, versions. */
const contents = (schema: string) => `
  select 'column' as kind, attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull as what
    from pg_attribute where attrelid in (select oid from pg_class where relnamespace = '${schema}'::regnamespace) and attnum > 0
  union all select 'table', relname || ' ' || relkind::text || ' ' || coalesce(reloptions::text, '')
    from pg_class where relnamespace = '${schema}'::regnamespace
  union all select 'constraint', pg_get_constraintdef(oid) from pg_constraint where connamespace = '${schema}'::regnamespace
  union all select 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = '${schema}'::regnamespace
  union all select 'version', version::text from ${schema}.versions
  order by 1, 2`;

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
    await apply(server());
    const applied = await now();
    expect(applied.length).toBeGreaterThan(20);
    await apply(server());
    expect(await migrate(pool)).toBe(false);
    expect(await now()).toEqual(applied);
    await pool.query("drop schema svc_webhooks cascade");
    expect(await migrate(pool)).toBe(true);
    expect(await now()).toEqual(applied);
    await apply(server());
    expect(await now()).toEqual(applied);
  });

  test("of an older version changes nothing of a newer schema, whose records it shares", async () => {
    const pool = newPool();
    await migrate(pool);
    // The next version adds a function and a column, as its migration may.
    await pool.query(`
      alter table svc_webhooks.deliveries add column note text;
      create function svc_webhooks.claim_2(id text) returns text language sql as $$ select 'c1 1' $$;
      insert into svc_webhooks.versions values (2)`);
    const before = (await pool.query(contents("svc_webhooks"))).rows;
    expect(await migrate(pool)).toBe(false);
    expect((await pool.query(contents("svc_webhooks"))).rows).toEqual(before);
    const store = postgresStore(pool);
    expect(await store.claim(key, claimBy("a"), call)).toMatchObject({ status: "claimed", run: 1 });
    expect(await store.complete(key, claimBy("a"), call)).toBe("owner");
    expect(await store.claim(key, claimBy("b"), call)).toMatchObject({ status: "done" });
    expect(await store.check()).not.toContainEqual(expect.stringContaining("version"));
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

  test("changes nothing if it fails", async () => {
    const pool = newPool();
    await pool.query("create schema svc_webhooks; create table svc_webhooks.hour_1 (a int)");
    // Not a function, so that one that uses it cannot be created.
    await pool.query("create type svc_webhooks.deliveries as (a int)");
    await expect(migrate(pool)).rejects.toThrow(/deliveries/);
    const { rows } = await pool.query(
      "select relname from pg_class where relnamespace = 'svc_webhooks'::regnamespace order by 1",
    );
    expect(rows).toEqual([{ relname: "deliveries" }, { relname: "hour_1" }]);
  });
});
