import { sized } from "@svc-webhooks/kit/sized";
import { clientKinds, pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { gate } from "@svc-webhooks/kit/gate";
import { call, claimBy, week } from "@svc-webhooks/kit/receivers";
import { signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { age } from "@svc-webhooks/kit/postgres-clients";
import { migrate, postgresStore, type Database } from "@svc-webhooks/postgres";
import { PermanentError } from "@svc-webhooks/core";
import { reconcile } from "@svc-webhooks/core/reconcile";
import { until } from "@svc-webhooks/kit/until";
import { Client, Pool, type PoolClient } from "pg";
import { beforeAll, afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  claimed,
  insert,
  keyOf,
  newDelivery,
  prepare,
  receiverOver,
  statesOf,
  useServer,
} from "./support.js";

/** Returns a `Database` over a pool that records its statements. */
function recorded(pool: Pool): {
  readonly db: Database<PoolClient>;
  readonly statements: string[];
} {
  const statements: string[] = [];
  const queryOn =
    (on: Pick<Pool, "query">): Database<PoolClient>["query"] =>
    async (text, values) => {
      statements.push(/"\.(\w+)_1/.exec(text)?.[1] ?? text);
      return (await on.query(text, [...values])).rows;
    };
  return {
    statements,
    db: {
      query: queryOn(pool),
      async transaction(work, { first, mark }) {
        const client = await pool.connect();
        try {
          await client.query(`begin; ${first}`);
          const result = await work(client, queryOn(client), mark);
          await client.query("commit");
          return result;
        } catch (error) {
          await client.query("rollback");
          throw error;
        } finally {
          client.release();
        }
      },
    },
  };
}

describeWithPostgres("the records on a server", () => {
  const server = useServer();
  let client: TestStore;
  let pool: Pool;
  beforeAll(async () => {
    client = pg.open(server().connectionString);
    await prepare(client);
    pool = new Pool({ connectionString: server().connectionString, max: 8 });
  });
  afterAll(async () => {
    await pool?.end();
    await client?.close();
  });

  describe("cost", () => {
    test.each<[string, readonly string[], number]>([
      ["a new event", ["claim", "complete"], 1],
      ["a duplicate", ["claim"], 2],
    ])("%s: the statements %j", async (_name, expected, copies) => {
      const { db, statements } = recorded(pool);
      const { receive } = receiverOver({ store: postgresStore(db) }, async () => {});
      const delivery = newDelivery();
      for (let copy = 0; copy < copies; copy += 1) {
        statements.length = 0;
        await receive(delivery);
      }
      expect(statements).toEqual(expected);
    });

    test("a peek at 1,000 keys: one statement, which changes no row", async () => {
      const { db, statements } = recorded(pool);
      const store = postgresStore(db);
      const keys = Array.from({ length: 1_000 }, (_, index) => keyOf(1_000_000 + index));
      const [running, done, absent] = [keys[3], keys[999], keyOf(0)];
      await store.claim(String(running), claimBy("a"), call);
      await store.complete(String(done), claimBy("a"), call);
      // The versions of rows, and the locks that a transaction has left on them.
      const rows = () =>
        client.query(
          "select xmin::text, xmax::text, ctid::text, d::text from svc_webhooks.deliveries d order by key",
          [],
        );
      const before = await rows();
      statements.length = 0;
      const states = await store.peek?.([...keys, absent], call);
      expect(statements).toHaveLength(1);
      expect(states).toHaveLength(1_001);
      expect(states?.flatMap((state, index) => (state ? [[index, state]] : []))).toEqual([
        [3, "running"],
        [999, "done"],
      ]);
      expect(await rows()).toEqual(before);
    });

    test("a comparison of deliveries with their records: a statement for each 1,000", async () => {
      const { db, statements } = recorded(pool);
      const { receiver } = receiverOver({ store: postgresStore(db) }, async () => {});
      const now = Date.now();
      const many = sized(10_000, 100_000);
      // Every thousandth was handled, and every thousandth of the others was acknowledged.
      const ids = Array.from({ length: many }, (_, at) => `dlv_compared_${at}`);
      for (const id of ids.filter((_, at) => at % 1_000 === 0)) {
        await receiver.receive(await signed(undefined, { "x-svc-delivery-id": id }));
      }
      const list = ids.map((delivery_id, at) => ({
        delivery_id,
        status: at % 1_000 < 2 ? "succeeded" : "failed",
        created_at: new Date(now - 3_600_000 - at).toISOString(),
      }));
      statements.length = 0;
      const report = await reconcile({ list, receiver, since: new Date(now - 86_400_000) });
      const done = many / 1_000;
      const missingCount = many - 2 * done;
      expect(report).toMatchObject({ sent: many, done, missingCount, lostCount: done });
      expect(statements).toHaveLength(done);
    });

    test("a peek reads through the index of the key, and qualifies every name", async () => {
      const { db, statements } = recorded(pool);
      await postgresStore(db).peek?.([keyOf(1)], call);
      const connection = await pool.connect();
      onTestFinished(() => connection.release());
      const text = String(statements[0]);
      await connection.query("begin; set local enable_seqscan = off; set local search_path = ''");
      const { rows } = await connection.query(`explain ${text}`, [keyOf(1)]);
      await connection.query("rollback");
      expect(JSON.stringify(rows)).toContain("deliveries_pkey");
    });

    test.each(["", "d", "ddd", "dx", "undefined"])(
      "the reply %j to a peek at two keys is an error",
      async (reply) => {
        const { db } = recorded(pool);
        const store = postgresStore({ ...db, query: async () => [{ reply }] });
        await expect(store.peek?.([keyOf(1), keyOf(2)], call)).rejects.toThrow(
          /^PostgreSQL returned an unexpected reply to a peek: /,
        );
      },
    );

    test("a new event with transaction: claim and finish, and a duplicate: claim", async () => {
      const { db, statements } = recorded(pool);
      const store = postgresStore(db);
      const { receiveAll } = receiverOver({ store }, (context) =>
        store.transaction(context, (tx) => tx.query(insert, ["a"])),
      );
      const delivery = newDelivery();
      await receiveAll(delivery, delivery);
      expect(statements).toEqual(["claim", "finish", "claim"]);
    });

    test.each(["pg", "Drizzle over pg"])(
      "a transaction over %s takes three messages: begin, effects, completion with commit",
      async (name) => {
        const kind = clientKinds.find((one) => one.name === name);
        const over = kind?.open(server().connectionString) as TestStore;
        onTestFinished(() => over.close());
        const ofRecord = crypto.randomUUID().replaceAll("-", "");
        const context = await claimed(over.store, { key: ofRecord });
        const query = vi.spyOn(Client.prototype, "query");
        onTestFinished(() => query.mockRestore());
        await over.store.transaction(context, (tx) => over.queryIn(tx, insert, ["a"]));
        const texts = query.mock.calls.map(([statement]) => {
          const given: unknown = statement;
          return typeof given === "string" ? given : (given as { readonly text: string }).text;
        });
        expect(texts).toEqual([
          expect.stringMatching(/^begin; select .*set_config/),
          insert,
          expect.stringMatching(/^select .*finish_1\(.*; commit$/),
        ]);
        expect(await over.store.claim(ofRecord, claimBy("b"), call)).toMatchObject({
          status: "done",
        });
      },
    );

    test("a transaction over pg commits separately after a statement that work has not awaited", async () => {
      const { store } = client;
      const context = await claimed(store, { key: keyOf(8) });
      const query = vi.spyOn(Client.prototype, "query");
      onTestFinished(() => query.mockRestore());
      await store.transaction(context, async (tx) => {
        client.queryIn(tx, "select pg_sleep(0.1)").catch(() => {});
      });
      expect(query.mock.lastCall?.[0]).toBe("commit");
    });

    test("a parked event that is sent again: claim; an unsigned one: nothing", async () => {
      const { db, statements } = recorded(pool);
      const { receiveAll } = receiverOver({ store: postgresStore(db) }, () =>
        Promise.reject(new PermanentError("no")),
      );
      const delivery = newDelivery();
      const codes = await receiveAll(delivery, delivery, unsigned());
      expect(codes).toEqual(["parked", "parked", "signature_missing"]);
      expect(statements).toEqual(["claim", "release", "claim"]);
    });
  });

  test("extend of a run that is being committed does not report a lost lease", async () => {
    const { store } = client;
    const context = await claimed(store, { key: keyOf(1) });
    const [begun, extended] = [gate(), gate()];
    await client.query(
      `create or replace function wait() returns trigger language plpgsql as
         $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
       create constraint trigger waits after insert on effects deferrable initially deferred
         for each row execute function wait()`,
      [],
    );
    const lock = new Client(server().connectionString);
    await lock.connect();
    onTestFinished(async () => {
      await client.query("drop trigger waits on effects", []);
      await lock.end();
    });
    await lock.query("select pg_advisory_lock(7)");
    const transaction = store.transaction(context, async (tx) => {
      await client.queryIn(tx, insert, ["a"]);
      begun.open();
    });
    await begun.opened;
    const waiting = async (event: string) => {
      const [row] = await client.query(
        "select count(*)::text from pg_stat_activity where wait_event = $1",
        [event],
      );
      return row?.["count"] !== "0";
    };
    while (!(await waiting("advisory")));
    const extension = Promise.resolve(store.extend(keyOf(1), claimBy("a"), call)).finally(
      extended.open,
    );
    while (!(await waiting("transactionid")));
    await lock.query("select pg_advisory_unlock(7)");
    await transaction;
    expect(await extension).toBe(true);
    expect(await store.complete(keyOf(1), claimBy("a"), call)).toBe("owner");
    expect(await store.extend(keyOf(1), claimBy("a"), call)).toBe(false);
  });

  test("a token that finished one record completes another with a statement", async () => {
    const { store } = client;
    const [one, two] = [keyOf(2), keyOf(3)];
    const context = await claimed(store, { key: one, token: "same" });
    await store.transaction(context, async () => {});
    expect(await store.complete(two, claimBy("same"), call)).toBe("restored");
    expect(await store.complete(one, claimBy("same"), call)).toBe("owner");
    expect(await store.complete(one, claimBy("same"), call)).toBe("already");
  });

  test("finish completes a delivery in a transaction of the user's own, once", async () => {
    const { store } = client;
    const context = await claimed(store, { key: keyOf(4) });
    const own = await pool.connect();
    onTestFinished(() => own.release());
    const { text, values } = store.finish(context);
    await own.query("begin");
    await own.query(text, values);
    await own.query("rollback");
    expect(await store.claim(keyOf(4), claimBy("b"), call)).toMatchObject({ status: "busy" });
    await own.query("begin");
    await own.query(text, values);
    await own.query("commit");
    expect(await store.claim(keyOf(4), claimBy("b"), call)).toMatchObject({ status: "done" });
    await own.query("begin");
    await expect(own.query(text, values)).rejects.toMatchObject({
      code: "SVC01",
      message: expect.stringContaining("This delivery is already completed"),
    });
    expect((await own.query("commit")).command).toBe("ROLLBACK");
  });

  test("of 10,000 runs nothing stays in memory", async () => {
    const { db } = recorded(pool);
    // The store keeps nothing else in memory.
    const set = vi.spyOn(Map.prototype, "set");
    onTestFinished(() => set.mockRestore());
    // The server is not under test.
    const store = postgresStore({
      ...db,
      query: async () => [{ reply: "c1 1" }],
      transaction: async (work) =>
        work(undefined as never, async () => [{ reply: "run-1" }], undefined),
    });
    for (let index = 0; index < 10_000; index += 1) {
      const context = { idempotencyKey: keyOf(index), fence: 1 };
      const request = claimBy("run-1");
      await store.claim(keyOf(index), request, call);
      await store.transaction(context, async () => {});
      // One of ten handlers throws after its transaction.
      if (index % 10 === 0) await store.release(keyOf(index), { ...request, to: "failed" }, call);
      else await store.complete(keyOf(index), request, call);
    }
    const ofRuns = set.mock.contexts.filter((_map, index) =>
      String(set.mock.calls[index]?.[0]).startsWith("0000"),
    );
    expect(ofRuns).toHaveLength(20_000);
    expect([...new Set(ofRuns)]).toEqual([new Map(), new Map()]);
  });

  test.each(clientKinds)(
    "claims that do not wait for the disk change no later commit, over $name",
    async ({ open }) => {
      const other = open(server().connectionString);
      onTestFinished(() => other.close());
      const setting = "select current_setting('synchronous_commit') as value";
      for (let index = 0; index < 20; index += 1) {
        const key = keyOf(100 + index);
        await other.store.forget(key, call);
        const claims = ["a", "b"].map(async (token) =>
          other.store.claim(key, claimBy(token), call),
        );
        const results = await Promise.all(claims);
        const fence = results.flatMap((one) => (one.status === "claimed" ? [one.fence] : []))[0];
        await other.store.transaction({ idempotencyKey: key, fence }, async (tx) => {
          // A call of the store is not part of the transaction: it is committed whatever the transaction's
          // result.
          await other.store.forget(keyOf(99), call);
          const result = (await other.queryIn(tx, setting)) as { rows?: unknown[] };
          expect(result.rows ?? [...(result as unknown[])]).toEqual([{ value: "on" }]);
        });
        expect(await other.query(setting, [])).toEqual([{ value: "on" }]);
        await client.query("delete from svc_webhooks.deliveries where key = $1::uuid", [key]);
      }
    },
  );

  test("a call of the store is not rolled back with the transaction around it", async () => {
    const { store } = client;
    const context = await claimed(store, { key: keyOf(5) });
    const failing = store.transaction(context, async () => {
      await store.claim(keyOf(6), claimBy("a"), call);
      throw new Error("inside");
    });
    await expect(failing).rejects.toThrow("inside");
    expect(await store.claim(keyOf(6), claimBy("b"), call)).toMatchObject({ status: "busy" });
  });

  test("removes expired records by further claims alone", async () => {
    await client.query("truncate svc_webhooks.deliveries", []);
    await client.query(
      `select svc_webhooks.complete_1(lpad(to_hex(n), 32, '0'), 'a', '${week}', '') from generate_series(1, 500) n`,
      [],
    );
    await client.query(age, [String(week + 2 * 3_600_000)]);
    // Each claim purges two records on average.
    await client.query(
      `select svc_webhooks.claim_1(lpad(to_hex(n + 1000), 32, '0'), 'a', '1000', '${week}', '', '', '') from generate_series(1, 2000) n`,
      [],
    );
    expect(
      await client.query("select 1 from svc_webhooks.deliveries where state = 'd'", []),
    ).toEqual([]);
    expect(await statesOf(client)).toHaveLength(2_000);
  });

  test("purge removes no more than its limit", async () => {
    await client.query("truncate svc_webhooks.deliveries", []);
    for (let index = 0; index < 5; index += 1) {
      await client.store.complete(keyOf(index), claimBy("a"), call);
    }
    expect(await client.store.purge()).toBe(0);
    await client.query(age, [String(week + 2 * 3_600_000)]);
    expect(await client.store.purge({ limit: 3 })).toBe(3);
    expect(await client.store.purge()).toBe(2);
  });
});

const count = sized(8_000, 20_000);

describeWithPostgres(`${count} records`, () => {
  const server = useServer({ fsync: "off", autovacuum: "off" });

  test.each(["complete", "transaction"])(
    "with %s stay in their pages, in 230 bytes each",
    async (ending) => {
      const pool = new Pool({ connectionString: server().connectionString, max: 8 });
      onTestFinished(() => pool.end());
      await migrate(pool);
      await pool.query("truncate svc_webhooks.deliveries");
      await pool.query("select pg_stat_reset()");
      const store = postgresStore(pool);
      let next = 0;
      const worker = async () => {
        while (next < count) {
          const key = crypto.randomUUID().replaceAll("-", "");
          const request = { ...claimBy(crypto.randomUUID()), retainMs: week };
          next += 1;
          const result = await store.claim(key, request, call);
          if (result.status !== "claimed") throw new Error("It is not claimed.");
          if (ending === "transaction") {
            const context = { idempotencyKey: key, fence: result.fence };
            await store.transaction(context, async () => {});
          }
          await store.complete(key, request, call);
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      const measured = async () => {
        const { rows } = await pool.query<Record<"updates" | "hot" | "bytes", number>>(`
          select pg_stat_force_next_flush(), n_tup_upd::int as updates, n_tup_hot_upd::int as hot,
            pg_total_relation_size(relid)::int as bytes
          from pg_stat_user_tables where relname = 'deliveries'`);
        return rows[0] as (typeof rows)[0];
      };
      // Each connection counts its own statements, and publishes the count after a statement.
      await until(async () => {
        await Promise.all(Array.from({ length: 8 }, measured));
        return (await measured()).updates === count;
      }, "all updates are counted");
      const { updates, hot, bytes } = await measured();
      expect(hot / updates).toBeGreaterThanOrEqual(0.95);
      expect(bytes / count).toBeLessThanOrEqual(230);
    },
  );
});
