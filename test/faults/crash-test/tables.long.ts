import { migrate } from "@svc-webhooks/postgres";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { databaseServer } from "../../../tools/cli/src/crash-test/databases/postgres.js";
import { serverWithTables } from "./crash-testing.js";

describeWithPostgres("a database that is copied", () => {
  test("has all tables but the store's own, also in the store's schema", async () => {
    const server = await serverWithTables();
    onTestFinished(() => server.close());
    const pool = new Pool({ connectionString: server.url });
    await migrate(pool, { schema: "public" });
    await pool.query(
      "create schema other; create table other.deliveries (id text); create function other.claim_1() returns int language sql as 'select 1'",
    );
    await pool.end();

    const through = { name: "DATABASE_URL", url: new URL(server.url), kind: "postgres" } as const;
    const copies = await databaseServer(through, false, () => {});
    onTestFinished(copies.close);
    const copy = await copies.create();
    onTestFinished(copy.drop);
    expect(Object.keys(await copy.read()).toSorted()).toEqual([
      "orders",
      "other.deliveries",
      "seen",
      "stats",
    ]);
    expect(await copy.endLeases()).toBe(true);
  });
});
