import { clientKinds, pg, pglite } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { closableSockets, migrate, postgresStore, type Database } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  claimed,
  insert,
  key,
  newDelivery,
  prepare,
  receiverOver,
  toVersion1,
  useServer,
} from "./support.js";

/** The rights that the README lists. */
const grants = `
  grant usage on schema svc_webhooks to app;
  grant select, insert, update, delete on svc_webhooks.deliveries to app;
  grant select on svc_webhooks.versions to app;
  grant execute on all functions in schema svc_webhooks to app;`;

describeWithPostgres("check", () => {
  // The server has the settings of a production server.
  const server = useServer({});

  const open = (options = "", user = "postgres") => {
    const pool = new Pool({
      connectionString: server().connectionString.replace("postgres@", `${user}@`),
      connectionTimeoutMillis: 5_000,
      ...(options && { options }),
    });
    onTestFinished(() => pool.end());
    return pool;
  };

  test.each(clientKinds)(
    "reports nothing of a healthy server, over $name",
    async ({ open: over }) => {
      const client = over(server().connectionString);
      onTestFinished(() => client.close());
      await client.migrate();
      expect(await client.store.check()).toEqual([]);
    },
  );

  test.each<[string, string, string]>([
    ["a server that rejects writes", "-c default_transaction_read_only=on", "Set it to off"],
    [
      "commits that do not wait for the disk",
      "-c synchronous_commit=off",
      "synchronous_commit is off",
    ],
  ])("reports %s", async (_name, options, text) => {
    await migrate(open());
    expect(await postgresStore(open(options)).check()).toEqual([expect.stringContaining(text)]);
  });

  test("reports a pool that waits for a connection without end", async () => {
    const pool = new Pool({ connectionString: server().connectionString });
    onTestFinished(() => pool.end());
    await migrate(pool);
    expect(await postgresStore(pool).check()).toEqual([
      expect.stringContaining("connectionTimeoutMillis"),
    ]);
  });

  test("reports postgres.js that reads types, during which a closed connection ends the process", async () => {
    const sql = postgres(server().connectionString, { ...closableSockets, max: 2 });
    onTestFinished(() => sql.end({ timeout: 1 }));
    await migrate(sql);
    expect(await postgresStore(sql).check()).toEqual([
      expect.stringContaining("`fetch_types: false`"),
    ]);
  });

  test("reports the schema of the application's own tables", async () => {
    expect(await postgresStore(open(), { schema: "public" }).check()).toContainEqual(
      expect.stringMatching(/in "public".* Choose another `schema`/),
    );
  });

  test("reports a missing schema with the command that creates it, and so does a delivery", async () => {
    const pool = open();
    await pool.query("drop schema if exists svc_webhooks cascade");
    const store = postgresStore(pool);
    const fix = /`await migrate\(db\)`.*psql -f .*schema\.sql/;
    expect(await store.check()).toEqual([expect.stringMatching(fix)]);
    const { receive, lines } = receiverOver({ store }, async () => {});
    expect(await receive(newDelivery())).toMatchObject({ status: 503, code: "store_unavailable" });
    expect(lines.join("\n")).toMatch(fix);
    await expect(store.claim(key, claimBy("a"), call)).rejects.toMatchObject({
      code: "schema_missing",
    });
    expect(await postgresStore(pool, { schema: "absent" }).check()).toEqual([
      expect.stringMatching(/Run `await migrate\(db, { schema: "absent" }\)` when you deploy\.$/),
    ]);
  });

  test.each([
    ["table deliveries", "drop table lacking.deliveries cascade"],
    ["table versions", "drop table lacking.versions"],
    ["index deliveries_purge_hour", "drop index lacking.deliveries_purge_hour"],
    ["index deliveries_pkey", "alter table lacking.deliveries drop constraint deliveries_pkey"],
  ])("reports a missing %s", async (missing, statement) => {
    const pool = open();
    await migrate(pool, { schema: "lacking" });
    await pool.query(statement);
    const store = postgresStore(pool, { schema: "lacking" });
    expect(await store.check()).toEqual([
      expect.stringMatching(`^The schema "lacking" lacks (.*, )?${missing}[,.:]`),
    ]);
    expect(await migrate(pool, { schema: "lacking" })).toBe(true);
    expect(await store.check()).toEqual([]);
  });

  test("reports a table of another tool", async () => {
    const pool = open();
    await pool.query("create schema other; create table other.deliveries (id int)");
    expect(await postgresStore(pool, { schema: "other" }).check()).toEqual([
      expect.stringMatching(
        /^The table "deliveries" in the schema "other" does not belong to this store: .* Choose another `schema`/,
      ),
    ]);
  });

  test.each([
    [
      "alter function svc_webhooks.claim_1 owner to stranger",
      "svc_webhooks.claim_1(text,text,text,text,text,text,text) of stranger",
    ],
    [
      "alter table svc_webhooks.deliveries owner to stranger",
      "svc_webhooks.deliveries of stranger",
    ],
    [
      "create function svc_webhooks.forget_1(a text, b text default '') returns text language sql as 'select a'",
      "contains overloads of the store's functions: svc_webhooks.forget_1(text,text). ",
    ],
  ])(
    "and migrate report what makes calls of the store run something else: %s",
    async (statement, text) => {
      const pool = open();
      await pool.query("drop schema if exists svc_webhooks cascade; drop role if exists stranger");
      await pool.query("create role stranger");
      await migrate(pool);
      await pool.query(statement);
      onTestFinished(async () => {
        await pool.query("drop schema svc_webhooks cascade; drop role stranger");
      });
      expect(await postgresStore(pool).check()).toEqual([expect.stringContaining(text)]);
      await expect(migrate(pool)).rejects.toMatchObject({
        code: "schema_taken",
        message: expect.stringContaining(text),
      });
    },
  );

  test("reports a schema of version 1 with the command that replaces its functions, which still work", async () => {
    const pool = open();
    await migrate(pool);
    await pool.query(toVersion1);
    const store = postgresStore(pool);
    expect(await store.check()).toEqual([
      expect.stringMatching(
        /^The schema "svc_webhooks" has version 1: claim_1, .* search_path.* Run `await migrate\(db\)`/,
      ),
    ]);
    await store.forget(key, call);
    await store.transaction(await claimed(store), async () => {});
    expect(await store.claim(key, claimBy("b"), call)).toMatchObject({ status: "done" });
    expect(await migrate(pool)).toBe(true);
    expect(await store.check()).toEqual([]);
  });

  test("reports a schema of another version", async () => {
    const pool = open();
    await pool.query("drop schema if exists older cascade");
    await migrate(pool, { schema: "older" });
    await pool.query("drop function older.finish_1");
    expect(await postgresStore(pool, { schema: "older" }).check()).toEqual([
      expect.stringMatching(
        /"older" lacks finish_1\. It is incomplete or from another version\. Run `await migrate/,
      ),
    ]);
  });

  test("reports the difference of the clocks", async () => {
    const pool = open();
    await migrate(pool);
    const database: Database<unknown> = {
      async query(text, values) {
        const { rows } = await pool.query<{ reply: string }>(text, [...values]);
        // An "f" before the facts keeps clients from parsing them.
        const facts = JSON.parse(rows[0]?.reply.slice(1) ?? "") as object;
        return [{ reply: `f${JSON.stringify({ ...facts, now: Date.now() + 5_000 })}` }];
      },
      transaction: () => Promise.reject(new Error("unused")),
    };
    expect(await postgresStore(database).check()).toEqual([
      "The server's clock differs from this machine's by 5 s. Synchronize both clocks.",
    ]);
  });

  describe("of a role", () => {
    const roleWith = async (rights: string) => {
      const admin = open();
      await migrate(admin);
      await admin.query(`
        do $$ begin if exists (select from pg_roles where rolname = 'app') then
          drop owned by app; drop role app; end if; end $$;
        create role app login; ${rights}
        revoke execute on all functions in schema svc_webhooks from public;`);
      return open("", "app");
    };

    test("reports each missing right, and a claim names them too", async () => {
      const pool = await roleWith("");
      const store = postgresStore(pool);
      const problems = await store.check();
      expect(problems).toHaveLength(1);
      for (const right of [
        "usage of the schema",
        "select",
        "insert",
        "update",
        "delete",
        "execute",
      ]) {
        expect(problems[0]).toContain(right);
      }
      await expect(store.claim(key, claimBy("a"), call)).rejects.toMatchObject({
        code: "permission_denied",
      });
    });

    test("reports nothing if it has the rights of the README, which suffice", async () => {
      const pool = await roleWith(grants);
      const store = postgresStore(pool);
      expect(await store.check()).toEqual([]);
      await store.forget(key, call);
      const { fence } = await claimed(store);
      expect(await store.extend(key, claimBy("a"), call)).toBe(true);
      expect(await store.release(key, { ...claimBy("a"), to: "failed" }, call)).toBe(true);
      expect(fence).toBeGreaterThan(0);
      await store.transaction(await claimed(store, { token: "b" }), async () => {});
      expect(await store.complete(key, claimBy("c"), call)).toBe("already");
      expect(await store.forget(key, call)).toBe(true);
      expect(await store.purge()).toBe(0);
    });
  });
});

describeWithPostgres("check of a server without fsync", () => {
  const server = useServer({ fsync: "off" });

  test("reports it", async () => {
    const client = pg.open(server().connectionString);
    onTestFinished(() => client.close());
    await prepare(client);
    await client.query(insert, ["a"]);
    expect(await client.store.check()).toEqual([expect.stringContaining("fsync is off")]);
  });
});

test("check of PGlite finds nothing to report", async () => {
  const client = await pglite.open();
  onTestFinished(client.close);
  await client.migrate();
  expect(await client.store.check()).toEqual([]);
});
