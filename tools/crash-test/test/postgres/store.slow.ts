import { pglite, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claimNote, isStoreTable } from "../../src/postgres.js";

let database: TestStore;
beforeAll(async () => {
  database = await pglite.open();
  await database.migrate();
});
afterAll(() => database.close());

test("the tables of the store are recognized, and no other table of their names", async () => {
  await database.query("create table deliveries ()", []);
  await database.query("create table orders ()", []);
  const rows = await database.query(
    `select n.nspname || '.' || c.relname as name, ${isStoreTable} as is from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and n.nspname in ('public', 'svc_webhooks') order by 1`,
    [],
  );
  expect(rows).toEqual([
    { name: "public.deliveries", is: false },
    { name: "public.orders", is: false },
    { name: "svc_webhooks.deliveries", is: true },
    { name: "svc_webhooks.versions", is: true },
  ]);
});

test("the reply of each claim is read", async () => {
  const run = async (call: string) => {
    const [row] = (await database.query(`select svc_webhooks.${call} as reply`, [])) as readonly {
      readonly reply: string;
    }[];
    return row?.reply;
  };
  const key = "0".repeat(32);
  const claim = async (owner: string) =>
    claimNote(await run(`claim_1('${key}', '${owner}', '60000', '60000', 'l', '', '')`));
  expect(await claim("a")).toBeUndefined();
  expect(await claim("b")).toBe("in flight");
  await run(`release_1('${key}', 'a', '60000', '', 'failed')`);
  expect(await claim("b")).toBe("run 2");
  await run(`release_1('${key}', 'b', '60000', 'l', 'parked')`);
  expect(await claim("c")).toBe("parked");
  await run(`complete_1('${key}', 'c', '60000', 'l')`);
  expect(await claim("d")).toBe("done");
});
