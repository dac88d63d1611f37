import { clientKinds, pg, pglite } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { migrate, postgresStore, type Database } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { claimed, insert, key, newDelivery, prepare, receiverOver, useServer } from "./support.js";

/** Rights that the README lists. */
const grants = `
  grant usage on schema svc_webhooks to app;
  grant select, insert, update, delete on svc_webhooks.deliveries to app;
  grant select on svc_webhooks.versions to app;
  grant execute on all functions in schema svc_webhooks to app;`;

describeWithPostgres("check", () => {
  // As a production server.
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
    ["a server that rejects writes", "-c default_transaction_read_only=on", "rejects writes"],
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

  test("reports a table that is missing", async () => {
    const pool = open();
    await migrate(pool, { schema: "tableless" });
    await pool.query("drop table tableless.deliveries cascade");
    expect(await postgresStore(pool, { schema: "tableless" }).check()).toEqual([
      expect.stringContaining('"tableless" has no table deliveries'),
    ]);
  });

  test("reports a schema of another version", async () => {
    const pool = open();
    await pool.query("drop schema if exists older cascade");
    await migrate(pool, { schema: "older" });
    await pool.query("drop function older.finish_1");
    expect(await postgresStore(pool, { schema: "older" }).check()).toEqual([
      expect.stringMatching(
        /"older" has no finish_1: it is of another version\. Run `await migrate/,
      ),
    ]);
  });

  test("reports the difference of the clocks", async () => {
    const ahead = JSON.stringify({
      now: Date.now() + 5_000,
      replica: false,
      readOnly: "off",
      fsync: "on",
      synchronousCommit: "on",
      functions: [
        "claim_1",
        "complete_1",
        "release_1",
        "extend_1",
        "forget_1",
        "finish_1",
        "purge_1",
        "hour_1",
      ],
      tables: 1,
      version: "PostgreSQL 15",
      denied: [],
    });
    const database: Database<unknown> = {
      query: async () => [{ reply: ahead }],
      transaction: () => Promise.reject(new Error("unused")),
    };
    expect(await postgresStore(database).check()).toEqual([
      "The server's clock differs from this machine's by 5 s. Synchronise both.",
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
  const client = pglite.open();
  onTestFinished(client.close);
  await client.migrate();
  expect(await client.store.check()).toEqual([]);
});
