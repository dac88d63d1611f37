import type { PGlite } from "@electric-sql/pglite";
import { fromPglite, migrate, postgresStore } from "@svc-webhooks/postgres";
import { startPglite } from "@svc-webhooks/kit/postgres-clients";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { afterAll, beforeAll, expect, test } from "vitest";

const records = 500;

// Nothing vacuums this database.
let db: PGlite;
beforeAll(async () => {
  db = await startPglite();
  await migrate(fromPglite(db));
  const store = postgresStore(fromPglite(db));
  for (let n = 0; n < records; n++) {
    await store.claim(`key ${n}`, claimBy("owner"), call);
    await store.complete(`key ${n}`, claimBy("owner"), call);
  }
});
afterAll(() => db?.close());

test("a claim reuses the space that earlier claims took until they were completed", async () => {
  const { rows } = await db.query("select pg_relation_size('svc_webhooks.deliveries') as bytes");
  // A claimed record needs some 120 bytes, a completed one 80.
  expect((rows as [{ bytes: number }])[0].bytes / records).toBeLessThan(130);
});

// PostgreSQL plans a statement's first five executions in a session for their values, later ones for any.
test.each(["custom", "generic"])(
  "a purge with a %s plan does not read the records that have not expired",
  async (plan) => {
    // Autovacuum analyzes too. Without statistics, some plans read the whole table.
    await db.exec(`analyze svc_webhooks.deliveries; set plan_cache_mode = force_${plan}_plan`);
    const reads = await db.transaction(async (tx) => {
      const read = async () => {
        const { rows } = await tx.query(
          `select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as records
          from pg_stat_xact_user_tables where relid = 'svc_webhooks.deliveries'::regclass`,
        );
        return (rows as [{ records: number }])[0].records;
      };
      const before = await read();
      await tx.query("select svc_webhooks.purge_1('100')");
      return (await read()) - before;
    });
    // The planner may read the first one.
    expect(reads).toBeLessThan(5);
  },
);
