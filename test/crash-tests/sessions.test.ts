import { createReceiver } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import { crashTest } from "@svc-webhooks/testing/crash-test";
import type { Pool } from "pg";
import Cursor from "pg-cursor";
import { expect, test } from "vitest";

const insert = "insert into keyed values ($1) on conflict do nothing";

/*
 * Each handler changes the session once per process, as real code does for each connection, and fails if the session
 * has been changed before.
 */
test.each([
  { what: "a prepared statement", first: [`prepare one as select 1`], each: "execute one" },
  {
    what: "a temporary table",
    first: ["create temp table scratch (n int)"],
    each: "select from scratch",
  },
  {
    what: "a cursor",
    first: ["begin", "declare one cursor with hold for select 1", "commit"],
    each: "fetch one",
  },
  {
    what: "a setting",
    first: ["select 1 / (current_setting('work_mem') = '4MB')::int", "set work_mem = '5MB'"],
    each: "select 1",
  },
  {
    what: "an advisory lock",
    first: [
      "select 1 / (not exists (select from pg_locks where locktype = 'advisory'))::int",
      "select pg_advisory_lock(1)",
    ],
    each: "select 1",
  },
  {
    what: "a channel",
    first: ["select 1 / (not exists (select pg_listening_channels()))::int", "listen one"],
    each: "select 1",
  },
])("$what ends with its process", async ({ first, each }) => {
  const { findings, tried } = await crashTest<Pool>({
    events: [fixture("email.delivered")],
    faults: ["crash"],
    maxFaults: 1,
    prepare: async ({ pool }) => {
      await migrate(pool);
      await pool.query("create table keyed (key text primary key)");
    },
    receiver: ({ secret, clock, logger, pool }) => {
      const handle = async (key: string) => {
        for (const text of first) await pool.query(text);
        await pool.query(each);
        await pool.query(insert, [key]);
      };
      return createReceiver({
        name: "sessions",
        secret,
        clock,
        logger,
        store: postgresStore(pool),
        on: { "*": (_event, { idempotencyKey }) => handle(idempotencyKey) },
      });
    },
  });
  expect(findings).toEqual([]);
  expect(tried[0]?.run).toBeGreaterThan(0);
});

test("named statements of the protocol work in each process", async () => {
  const { findings } = await crashTest<Pool>({
    events: [fixture("email.delivered")],
    faults: ["crash", "duplicate"],
    maxFaults: 1,
    prepare: async ({ pool }) => {
      await pool.query("create table keyed (key text primary key)");
    },
    receiver: ({ secret, clock, logger, pool, store }) =>
      createReceiver({
        secret,
        clock,
        logger,
        store,
        on: {
          "*": async (_event, { idempotencyKey }) => {
            for (let call = 0; call < 2; call += 1) {
              await pool.query({ name: "add", text: insert, values: [idempotencyKey] });
            }
          },
        },
      }),
  });
  expect(findings).toEqual([]);
});

test("a cursor of pg-cursor is refused with the fix", async () => {
  const run = crashTest<Pool>({
    events: [fixture("email.delivered")],
    receiver: ({ secret, clock, logger, store, pool }) =>
      createReceiver({
        secret,
        clock,
        store,
        logger,
        on: {
          "*": async () => {
            const client = await pool.connect();
            try {
              await client.query(new Cursor("select 1")).read(1);
            } finally {
              client.release();
            }
          },
        },
      }),
  });
  await expect(run).rejects.toThrow(/pg-cursor and pg-query-stream .* `world\.effect`/);
});
