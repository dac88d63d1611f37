import type { DeliveryStore } from "@svc-webhooks/core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { clientKinds, pglite, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { gate } from "@svc-webhooks/kit/gate";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { fromDrizzle, migrate, postgresStore, type Row } from "@svc-webhooks/postgres";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { Pool } from "pg";
import {
  claimed,
  effects,
  insert,
  key,
  keyOf,
  newDelivery,
  prepare,
  receiverOver,
  statesOf,
  useServer,
} from "./support.js";

const extend = (store: DeliveryStore) => store.extend(key, claimBy("a"), call);

/** Takes the record over, like another process whose claim comes after the end of the lease. */
const takeOver = (client: TestStore) =>
  client.query("update svc_webhooks.deliveries set token = 'other', fence = fence + 1", []);

function transactionsOver(kind: string, open: () => TestStore | Promise<TestStore>): void {
  describe(`a transaction over ${kind}`, () => {
    let client: TestStore;
    beforeAll(async () => {
      client = await open();
    });
    beforeEach(() => prepare(client));
    afterAll(() => client?.close());

    test("commits the effects and the completion, and resolves to the result of work", async () => {
      const results: unknown[] = [];
      const { receiveAll } = receiverOver(client, async (context) => {
        const work = (tx: unknown) => client.queryIn(tx, insert, ["a"]).then(() => 1);
        results.push(await client.store.transaction(context, work));
      });
      const delivery = newDelivery();
      expect(await receiveAll(delivery, delivery)).toEqual(["processed", "duplicate"]);
      expect(results).toEqual([1]);
      expect(await effects(client)).toEqual(["a"]);
      expect(await statesOf(client)).toEqual(["d"]);
    });

    test("rejects with transaction_lost if there is no record", async () => {
      const context = { idempotencyKey: key, fence: 1 };
      const work = (tx: unknown) => client.queryIn(tx, insert, ["a"]);
      await expect(client.store.transaction(context, work)).rejects.toMatchObject({
        name: "TransactionLostError",
        code: "transaction_lost",
        message: expect.stringContaining("There is no record of this delivery"),
      });
      expect(await effects(client)).toEqual([]);
    });

    test("rejects with not_claimed without a fence, before it begins", async () => {
      let hasRun = false;
      const work = async () => void (hasRun = true);
      const context = { idempotencyKey: key, fence: undefined };
      await expect(client.store.transaction(context, work)).rejects.toMatchObject({
        code: "not_claimed",
      });
      expect(() => client.store.finish(context)).toThrow(/has no fence/);
      expect(hasRun).toBe(false);
    });

    test("is the only one of its run", async () => {
      const { receiveAll, handlerErrors } = receiverOver(client, async (context) => {
        for (const name of ["first", "second"]) {
          await client.store.transaction(context, (tx) => client.queryIn(tx, insert, [name]));
        }
      });
      const delivery = newDelivery();
      expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "duplicate"]);
      expect(handlerErrors).toMatchObject([{ code: "transaction_lost" }]);
      expect(await effects(client)).toEqual(["first"]);
    });

    test("stays committed if the handler throws after it", async () => {
      const { receiveAll } = receiverOver(client, async (context) => {
        await client.store.transaction(context, (tx) => client.queryIn(tx, insert, ["a"]));
        throw new Error("after");
      });
      const delivery = newDelivery();
      expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "duplicate"]);
      expect(await effects(client)).toEqual(["a"]);
    });

    test("is rolled back if work throws, and runs again", async () => {
      const { receiveAll } = receiverOver(client, (context) =>
        client.store.transaction(context, async (tx) => {
          await client.queryIn(tx, insert, [`run ${context.run}`]);
          if (context.run === 1) throw new Error("inside");
        }),
      );
      const delivery = newDelivery();
      expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "processed"]);
      expect(await effects(client)).toEqual(["run 2"]);
    });

    test("is rolled back if work swallows an error of the database", async () => {
      const context = await claimed(client.store);
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["a"]);
        await client.queryIn(tx, "select 1/0").catch(() => {});
      });
      await expect(result).rejects.toBeInstanceOf(Error);
      expect(await effects(client)).toEqual([]);
      expect(await statesOf(client)).toEqual(["r"]);
    });

    test("is rolled back if the database refuses its commit", async () => {
      const context = await claimed(client.store);
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, "insert into effects values ('a', 'x'), ('b', 'x')");
      });
      await expect(result).rejects.toBeInstanceOf(Error);
      expect(await effects(client)).toEqual([]);
      expect(await statesOf(client)).toEqual(["r"]);
      expect(await client.store.release(key, { ...claimBy("a"), to: "failed" }, call)).toBe(true);
    });

    test.each([
      ["rollback"],
      ["rollback", "begin"],
      ["rollback", "begin", "insert into effects values ('b')"],
    ])("that work ends itself with %s %s %s completes nothing", async (...statements) => {
      const context = await claimed(client.store);
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["a"]);
        for (const one of statements) await client.queryIn(tx, one);
      });
      await expect(result).rejects.toBeInstanceOf(Error);
      expect(await effects(client)).toEqual([]);
      expect(await statesOf(client)).toEqual(["r"]);
    });

    test("that work commits itself does not complete the delivery", async () => {
      const context = await claimed(client.store);
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["a"]);
        await client.queryIn(tx, "commit");
      });
      await expect(result).rejects.toMatchObject({ code: "transaction_ended" });
      expect(await statesOf(client)).toEqual(["r"]);
    });

    test("commits a statement that work has not awaited, or nothing", async () => {
      const context = await claimed(client.store);
      const result = client.store.transaction(context, async (tx) => {
        client.queryIn(tx, insert, ["a"]).catch(() => {});
      });
      const isDone = await result.then(
        () => true,
        () => false,
      );
      expect(await effects(client)).toEqual(isDone ? ["a"] : []);
      expect(await statesOf(client)).toEqual([isDone ? "d" : "r"]);
    });

    test("accepts a work that is not asynchronous", async () => {
      const context = await claimed(client.store);
      const work = (() => 1) as unknown as () => Promise<number>;
      expect(await client.store.transaction(context, work)).toBe(1);
      expect(await statesOf(client)).toEqual(["d"]);
    });

    test("is rolled back if work throws synchronously", async () => {
      const context = await claimed(client.store);
      const work = () => {
        throw new Error("synchronous");
      };
      await expect(client.store.transaction(context, work)).rejects.toThrow("synchronous");
      expect(await statesOf(client)).toEqual(["r"]);
    });

    test.each(["commits", "rolls back"])("sends no statement of work once it %s", async (end) => {
      const context = await claimed(client.store);
      const ended = gate();
      let late: Promise<unknown> | undefined;
      const result = client.store.transaction(context, async (tx) => {
        late = ended.opened.then(() => client.queryIn(tx, insert, ["late"]));
        late.catch(() => {});
        if (end === "rolls back") throw new Error("inside");
      });
      await result.catch(() => {});
      ended.open();
      await expect(late).rejects.toBeInstanceOf(Error);
      expect(await effects(client)).toEqual([]);
    });

    test("lets no late statement of work roll it back unnoticed", async () => {
      const context = await claimed(client.store);
      const stopped = gate();
      const pending = { is: true };
      const result = client.store
        .transaction(context, async (tx) => {
          await client.queryIn(tx, insert, ["a"]);
          // Some of these statements come between the completion and the commit.
          void (async () => {
            while (pending.is) {
              await client.queryIn(tx, "select 1/0").catch(() => {});
              await new Promise(setImmediate);
            }
          })().then(stopped.open);
        })
        .then(
          () => "done",
          () => "rejected",
        )
        .finally(() => (pending.is = false));
      const isDone = (await result) === "done";
      await stopped.opened;
      expect(await effects(client)).toEqual(isDone ? ["a"] : []);
      expect(await statesOf(client)).toEqual([isDone ? "d" : "r"]);
    });

    test("returns its connection in every case", async () => {
      const works: ((tx: unknown) => Promise<unknown>)[] = [
        async () => {},
        async () => Promise.reject(new Error("inside")),
        (tx) => client.queryIn(tx, "select 1/0"),
        (tx) => client.queryIn(tx, "rollback"),
        (tx) => client.queryIn(tx, "commit"),
        (tx) => client.queryIn(tx, "insert into effects values ('a', 'x'), ('b', 'x')"),
      ];
      // These are more than the pool has.
      for (let round = 0; round < 5; round += 1) {
        for (const work of works) {
          const context = await claimed(client.store);
          await client.store.transaction(context, work).catch(() => {});
          await client.query("truncate svc_webhooks.deliveries", []);
        }
      }
      expect(await client.query("select 1 as one", [])).toHaveLength(1);
    });
  });
}

transactionsOver(pglite.name, () => pglite.open());

describeWithPostgres("a transaction over pg", () => {
  const server = useServer();

  /** Opens a pool, which is closed when the test has finished, on a database without records. */
  async function openPool(max = 2): Promise<Pool> {
    const pool = new Pool({ connectionString: server().connectionString, max });
    onTestFinished(() => pool.end());
    await migrate(pool);
    await pool.query("truncate svc_webhooks.deliveries");
    return pool;
  }

  test("gives work a client that Drizzle accepts", async () => {
    const pool = await openPool(1);
    const store = postgresStore(pool);
    await pool.query("create table orders (id text)");
    const orders = pgTable("orders", { id: text() });
    const failing = store.transaction(await claimed(store), async (tx) => {
      await drizzle(tx).insert(orders).values({ id: "rolled back" });
      throw new Error("inside");
    });
    await expect(failing).rejects.toThrow("inside");
    await store.transaction(await claimed(store), (tx) =>
      drizzle(tx).insert(orders).values({ id: "a" }),
    );
    expect(await drizzle(pool).select().from(orders)).toEqual([{ id: "a" }]);
  });

  test.each([
    ["is in the future", "900000000000000000"],
    ["is not a number", "none"],
    ["is not passed on", undefined],
  ])("is kept during renewals if its id %s", async (_name, id) => {
    const pool = await openPool();
    const inner = fromDrizzle(drizzle(pool), sql);
    const ids: unknown[] = [];
    const store = postgresStore<unknown>({
      query: inner.query,
      transaction: (work, options) =>
        (inner.transaction as (...args: unknown[]) => never)(work, {
          ...options,
          begun(rows: readonly Row[]) {
            ids.push(rows[0]?.["reply"]);
            if (id !== undefined) options.begun?.([{ reply: id }]);
          },
        }),
    });
    await store.transaction(await claimed(store), async () => {
      expect(await extend(store)).toBe(true);
    });
    expect(ids).toEqual([expect.stringMatching(/^\d+$/)]);
    expect(await postgresStore(pool).complete(key, claimBy("b"), call)).toBe("already");
  });

  test("is kept during a renewal between the error of a statement and the rollback to a savepoint", async () => {
    const pool = await openPool();
    const store = postgresStore(pool);
    const result = store.transaction(await claimed(store), async (tx) => {
      await tx.query("savepoint a");
      await tx.query("select 1/0").catch(() => {});
      expect(await extend(store)).toBe(true);
      // A limit of 1 s would have passed.
      await tx.query("rollback to a; select pg_sleep(1.5)");
    });
    await expect(result).resolves.toBeUndefined();
  });

  test("accepts a Database around another one that drops the options", async () => {
    const pool = await openPool();
    const inner = fromDrizzle(drizzle(pool), sql);
    const store = postgresStore<unknown>({
      query: inner.query,
      transaction: (work) => (inner.transaction as (run: typeof work) => never)(work),
    });
    const other = keyOf(1);
    const context = await claimed(store, { key: other });
    expect(await store.transaction(context, async () => 1)).toBe(1);
    expect(await postgresStore(pool).complete(other, claimBy("b"), call)).toBe("already");
  });
});

describeWithPostgres("on a server", () => {
  const server = useServer();
  for (const { name, open } of clientKinds) {
    transactionsOver(name, () => open(server().connectionString));

    // PGlite cannot, because it has only one connection.
    describe(`a transaction over ${name}`, () => {
      let client: TestStore;
      beforeAll(async () => {
        client = open(server().connectionString);
        await prepare(client);
      });
      afterAll(() => client?.close());

      test("that work commits itself is reported as ended, although its lease is renewed", async () => {
        await prepare(client);
        const context = await claimed(client.store);
        const result = client.store.transaction(context, async (tx) => {
          await client.queryIn(tx, insert, ["a"]);
          await client.queryIn(tx, "commit");
          expect(await extend(client.store)).toBe(true);
        });
        await expect(result).rejects.toMatchObject({ code: "transaction_ended" });
        expect(await effects(client)).toEqual(["a"]);
      });

      test("rejects with the error of work that has caught a failed statement, although its lease is renewed", async () => {
        await prepare(client);
        const context = await claimed(client.store);
        const result = client.store.transaction(context, async (tx) => {
          await client.queryIn(tx, "select 1/0").catch(() => {});
          expect(await extend(client.store)).toBe(true);
          throw new Error("inside");
        });
        await expect(result).rejects.toThrow("inside");
      });

      test("that has failed rejects if work continues after its lease is renewed", async () => {
        await prepare(client);
        const context = await claimed(client.store);
        const waiting = gate();
        const result = client.store.transaction(context, async (tx) => {
          await client.queryIn(tx, "select 1/0").catch(() => {});
          expect(await extend(client.store)).toBe(true);
          await waiting.opened;
        });
        await expect(result).rejects.toMatchObject({ code: "no_reply" });
        waiting.open();
        expect(await extend(client.store)).toBe(true);
      });

      test("of a run that was overtaken writes nothing, and the next attempt runs", async () => {
        const { receive, handlerErrors } = receiverOver(client, (context) =>
          client.store.transaction(context, async (tx) => {
            await client.queryIn(tx, insert, [`run ${context.run}`]);
            if (context.run === 1) await takeOver(client);
          }),
        );
        const delivery = newDelivery();
        expect(await receive(delivery)).toMatchObject({ status: 500, code: "handler_failed" });
        expect(handlerErrors).toEqual([expect.objectContaining({ code: "transaction_lost" })]);
        expect(await effects(client)).toEqual([]);
        expect((await receive(delivery)).code).toBe("in_flight");
        await client.query("update svc_webhooks.deliveries set lease_ends_at = now()", []);
        expect((await receive(delivery)).code).toBe("processed");
        expect(await effects(client)).toEqual(["run 2"]);
      });
    });
  }
});
