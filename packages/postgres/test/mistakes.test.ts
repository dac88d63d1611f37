import { clientKinds, pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import type { DeliveryContext, DeliveryStore } from "@svc-webhooks/core";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { gate } from "@svc-webhooks/kit/gate";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { fromDrizzle, fromKysely, migrate, postgresStore } from "@svc-webhooks/postgres";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle as drizzleOverPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { inspect } from "node:util";
import { Client, Pool, type PoolClient } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  claimed,
  effects,
  insert,
  key,
  newDelivery,
  prepare,
  receiverOver,
  statesOf,
  useServer,
} from "./support.js";

/** Records the rejections that would end a process without a listener, until the end of the test. */
function unhandledRejections(): readonly unknown[] {
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  const found: unknown[] = [];
  const note = (error: unknown) => void found.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note);
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });
  return found;
}

/** Resolves when a promise has rejected, without awaiting it. */
const rejected = (promise: Promise<unknown>) =>
  until(() => inspect(promise, { depth: 0 }).includes("<rejected>"), "it has rejected");

describeWithPostgres("a handler", () => {
  const server = useServer();
  let observer: TestStore;
  beforeAll(async () => {
    observer = pg.open(server().connectionString);
  });
  beforeEach(() => prepare(observer));
  afterAll(() => observer?.close());

  const poolOf = (max: number) => {
    const connectionString = server().connectionString;
    const pool = new Pool({ connectionString, max, connectionTimeoutMillis: 5_000 });
    onTestFinished(() => pool.end());
    return pool;
  };

  test.each(["succeeds", "fails"])(
    "that does not await a transaction which later %s fails, and nothing is written",
    async (end) => {
      const store = postgresStore(poolOf(4));
      const [ended, settled] = [gate(), gate()];
      const { receive, handlerErrors } = receiverOver({ store }, async (context) => {
        void store.transaction(context, async (tx) => {
          await tx.query(insert, ["a"]);
          await ended.opened;
          setImmediate(settled.open);
          if (end === "fails") throw new Error("inside");
        });
      });
      expect(await receive(newDelivery())).toMatchObject({ status: 500, code: "handler_failed" });
      expect(handlerErrors).toMatchObject([{ code: "handler_failed" }]);
      expect(await statesOf(observer)).toEqual(["f"]);
      ended.open();
      await settled.opened;
      await until(async () => {
        const rows = await observer.query(
          "select 1 from pg_stat_activity where state like 'idle in tr%'",
          [],
        );
        return rows.length === 0;
      }, "the transaction has ended");
      expect(await effects(observer)).toEqual([]);
      expect(await statesOf(observer)).toEqual(["f"]);
    },
  );

  const twoRowsIn = (client: TestStore, context: DeliveryContext, table: string) =>
    client.store.transaction(context, async (tx) => {
      await client.queryIn(tx, insert, [`run ${context.run}`]);
      await client.queryIn(tx, `insert into ${table} (name) values ('last')`);
    });

  describe.each(clientKinds)("over $name that does not await a transaction", ({ open }) => {
    let client: TestStore;
    beforeAll(() => {
      client = open(server().connectionString);
    });
    afterAll(() => client?.close());

    test.each(["before", "after"])(
      "which fails %s it ends fails too, and the process continues",
      async (when) => {
        const unhandled = unhandledRejections();
        const pending: Promise<unknown>[] = [];
        const { receive, receiveAll, lines } = receiverOver(
          client,
          async (context) => {
            if (context.run !== 1) return twoRowsIn(client, context, "effects");
            const failing = twoRowsIn(client, context, "no_such_table");
            pending.push(failing);
            if (when === "before") await rejected(failing);
            return undefined;
          },
          { onHandlerError: undefined },
        );
        const delivery = newDelivery();
        expect(await receive(delivery)).toMatchObject({ status: 500, code: "handler_failed" });
        for (const one of pending) await rejected(one);
        expect(await receiveAll(delivery)).toEqual(["processed"]);
        expect(unhandled).toEqual([]);
        expect(lines).toHaveLength(1);
        expect(lines[0]).toMatch(
          when === "before"
            ? /The handler did not await `transaction`, which failed: relation "no_such_table" does not exist\. Await or return its promise\..*\n {2}caused by: .*does not exist/s
            : "The handler returned while its `transaction` was still open. Await or return its promise.",
        );
        expect(await effects(observer)).toEqual(["run 2", "last"]);
      },
    );
  });

  test("that does not await a transaction which fails before another one succeeds fails", async () => {
    const store = postgresStore(poolOf(4));
    const { receive } = receiverOver({ store }, async (context) => {
      await rejected(store.transaction(context, (tx) => tx.query("select 1/0")));
      await store.transaction(context, (tx) => tx.query(insert, ["a"]));
    });
    expect((await receive(newDelivery())).code).toBe("handler_failed");
  });

  test.each<[string, (failing: Promise<unknown>) => Promise<unknown>]>([
    ["then", (failing) => failing.then(() => true)],
    ["finally", (failing) => failing.finally(() => {})],
    ["then, twice", (failing) => failing.then(() => true).finally(() => {})],
  ])("that only adds %s to a transaction which fails fails too", async (_name, derive) => {
    const unhandled = unhandledRejections();
    const store = postgresStore(poolOf(4));
    const { receive, receiveAll } = receiverOver({ store }, async (context) => {
      const { run = 1 } = context;
      const ending = store.transaction(context, (tx) => tx.query(`select 1 / ${run - 1}`));
      if (run > 1) return derive(ending);
      void derive(ending);
      await rejected(ending);
      return undefined;
    });
    const delivery = newDelivery();
    expect((await receive(delivery)).code).toBe("handler_failed");
    expect(await receiveAll(delivery)).toEqual(["processed"]);
    expect(unhandled).toEqual([]);
  });

  test("that handles what it derived from a failed transaction succeeds", async () => {
    const store = postgresStore(poolOf(4));
    const { receive } = receiverOver({ store }, (context) =>
      store
        .transaction(context, (tx) => tx.query("select 1/0"))
        .then(() => true)
        .finally(() => {})
        .catch(() => {}),
    );
    expect((await receive(newDelivery())).code).toBe("processed");
  });

  test("that awaits a transaction only after it has failed, and handles its error, succeeds", async () => {
    const unhandled = unhandledRejections();
    const store = postgresStore(poolOf(4));
    const { receive } = receiverOver({ store }, async (context) => {
      const failing = store.transaction(context, (tx) => tx.query("select 1/0"));
      await rejected(failing);
      await failing.catch(() => {});
    });
    expect((await receive(newDelivery())).code).toBe("processed");
    expect(unhandled).toEqual([]);
  });

  test("that handles the error of its transaction succeeds", async () => {
    const store = postgresStore(poolOf(4));
    const { receive } = receiverOver({ store }, async (context) => {
      const failing = store.transaction(context, () => Promise.reject(new Error("inside")));
      await failing.catch(() => {});
    });
    expect((await receive(newDelivery())).code).toBe("processed");
    expect(await statesOf(observer)).toEqual(["d"]);
  });

  test("whose work never settles holds its connection until the server ends the transaction", async () => {
    const pool = poolOf(1);
    const store = postgresStore(pool);
    const context = await claimed(store, { leaseMs: 200 });
    const begun = gate();
    const hanging = store.transaction(context, async (tx) => {
      await tx.query(insert, ["a"]);
      begun.open();
      await new Promise(() => {});
    });
    await begun.opened;
    await expect(hanging).rejects.toBeInstanceOf(Error);
    expect(pool.waitingCount).toBe(0);
    expect((await pool.query("select 1")).rowCount).toBe(1);
    expect(await effects(observer)).toEqual([]);
  });

  test("that catches the error of a statement gets transaction_aborted", async () => {
    const store = postgresStore(poolOf(1));
    const context = await claimed(store);
    const caught = store.transaction(context, async (tx) => {
      await tx.query("select 1/0").catch(() => {});
    });
    await expect(caught).rejects.toMatchObject({
      code: "transaction_aborted",
      message: expect.stringContaining("caught its error or did not await it"),
    });
  });

  test("that does not await a failing statement gets transaction_aborted, whose cause is that failure", async () => {
    const store = postgresStore(poolOf(1));
    const context = await claimed(store);
    const work = async (tx: PoolClient) => void tx.query("select * from nowhere").catch(() => {});
    await expect(store.transaction(context, work)).rejects.toMatchObject({
      code: "transaction_aborted",
      cause: { code: "25P02", cause: { message: 'relation "nowhere" does not exist' } },
    });
  });

  test("that continues after a caught error gets transaction_aborted, whose cause is that error", async () => {
    const store = postgresStore(poolOf(1));
    const context = await claimed(store);
    const continued = store.transaction(context, async (tx) => {
      await tx.query("select * from nowhere").catch(() => {});
      await tx.query(insert, ["a"]);
    });
    await expect(continued).rejects.toMatchObject({
      code: "transaction_aborted",
      cause: { cause: { message: 'relation "nowhere" does not exist' } },
    });
  });

  const complete = (store: DeliveryStore, token: string) =>
    store.complete(key, { ...claimBy(token), lineage: "" }, call);

  test("that has lost its lease is judged by its own transactions, not by those of the next run", async () => {
    const store = postgresStore(poolOf(4));
    const first = await claimed(store, { leaseMs: 0 });
    void store.transaction(first, () => Promise.reject(new Error("not awaited")));
    const second = await claimed(store, { token: "b" });
    expect(second.fence).not.toBe(first.fence);
    await store.transaction(second, (tx) => tx.query(insert, ["b"]));
    await expect(complete(store, "a")).rejects.toMatchObject({ code: "handler_failed" });
    expect(await complete(store, "b")).toBe("owner");
    expect(await effects(observer)).toEqual(["b"]);
  });

  test("is completed while a transaction of an earlier run, which has lost its lease, is open", async () => {
    const store = postgresStore(poolOf(4));
    const first = await claimed(store, { leaseMs: 0 });
    const second = await claimed(store, { token: "b" });
    const begun = gate();
    const end = gate();
    const late = store.transaction(first, async () => {
      begun.open();
      await end.opened;
    });
    await begun.opened;
    await store.transaction(second, (tx) => tx.query(insert, ["b"]));
    expect(await complete(store, "b")).toBe("owner");
    end.open();
    await expect(late).rejects.toMatchObject({ code: "transaction_lost" });
  });

  test("that begins a transaction after it has returned does not hide its failure", async () => {
    const unhandled = unhandledRejections();
    const store = postgresStore(poolOf(4));
    const returned = gate();
    const { receive } = receiverOver({ store }, async (context) => {
      const begin = async () => {
        await returned.opened;
        void store.transaction(context, (tx) => tx.query(insert, ["late"]));
      };
      void begin();
    });
    expect((await receive(newDelivery())).code).toBe("processed");
    returned.open();
    await until(() => unhandled.length > 0, "the rejection is unhandled");
    expect(unhandled).toMatchObject([{ code: "transaction_lost" }]);
    expect(await effects(observer)).toEqual([]);
  });

  test("that calls transaction without work, and does not await it, fails", async () => {
    const store = postgresStore(poolOf(4));
    const { receive, handlerErrors } = receiverOver({ store }, async (context) => {
      void store.transaction(context, undefined as never);
    });
    expect((await receive(newDelivery())).code).toBe("handler_failed");
    expect(String(handlerErrors)).toContain("`work` must be a function");
  });

  // Kysely guards the statements that it compiles, so these reach the server between the completion and the
  // commit.
  test("of Kysely with late compiled statements is not acknowledged without its effects", async () => {
    const pool = poolOf(4).on("connect", (client) => void client.on("error", () => {}));
    const db = new Kysely<{ effects: { name: string } }>({
      dialect: new PostgresDialect({ pool }),
    });
    const store = postgresStore(fromKysely(db, CompiledQuery));
    const failing = CompiledQuery.raw("select 1/0");
    const { receive } = receiverOver({ store }, (context) =>
      store.transaction(context, async (tx) => {
        await tx.insertInto("effects").values({ name: context.deliveryId }).execute();
        setImmediate(() => void tx.executeQuery(failing).catch(() => {}));
      }),
    );
    let acknowledged = 0;
    for (let round = 0; round < 50; round += 1) {
      if ((await receive(newDelivery())).status === 200) acknowledged += 1;
    }
    expect(await effects(observer)).toHaveLength(acknowledged);
  });

  test("of postgres.js that does not await a query gets transaction_ended, but may use it as a part", async () => {
    const sql = postgres(server().connectionString, { max: 2, onnotice: () => {} });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const store = postgresStore(sql);
    const { receive, handlerErrors } = receiverOver({ store }, (context) =>
      store.transaction(context, async (tx) => {
        const condition = tx`where name = ${"a"}`;
        await tx`insert into effects (name) values (${`run ${context.run}`})`;
        await tx`select * from effects ${condition}`;
        const add = (within: typeof tx) => within`insert into effects (name) values ('forgotten')`;
        if (context.run === 1) void add(tx);
        if (context.run === 2) await tx.savepoint(async (nested) => void add(nested));
        if (context.run === 3) await tx.savepoint((nested) => [add(nested)]);
      }),
    );
    const delivery = newDelivery();
    for (const code of ["handler_failed", "handler_failed", "processed"]) {
      expect((await receive(delivery)).code).toBe(code);
    }
    expect(handlerErrors).toMatchObject([
      { code: "transaction_ended", message: expect.stringContaining("it was not awaited") },
      { code: "transaction_ended" },
    ]);
    expect(await effects(observer)).toEqual(["run 3", "forgotten"]);
  });

  test("of postgres.js notifies in the transaction, and neither after its end nor in one that rolls back", async () => {
    const sql = postgres(server().connectionString, { max: 2, onnotice: () => {} });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const heard: string[] = [];
    await sql.listen("effects", (payload) => void heard.push(payload));
    const store = postgresStore(sql);
    const ended = gate();
    let late: Promise<unknown> = Promise.resolve();
    const { receive } = receiverOver({ store }, (context) =>
      store.transaction(context, async (tx) => {
        await tx.notify("effects", `run ${context.run}`);
        if (context.run !== 1) return;
        late = ended.opened.then(() => tx.notify("effects", "late"));
        late.catch(() => {});
        throw new Error("rolled back");
      }),
    );
    const delivery = newDelivery();
    expect((await receive(delivery)).code).toBe("handler_failed");
    ended.open();
    await expect(late).rejects.toMatchObject({ code: "transaction_ended" });
    expect((await receive(delivery)).code).toBe("processed");
    await sql.notify("effects", "end");
    await until(() => heard.includes("end"), "the last notification has arrived");
    expect(heard).toEqual(["run 2", "end"]);
  });

  test("of postgres.js cannot prepare the transaction", async () => {
    const sql = postgres(server().connectionString, { max: 1, onnotice: () => {} });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const store = postgresStore(sql);
    const context = await claimed(store);
    const prepared = store.transaction(context, (tx) => tx.prepare("later"));
    await expect(prepared).rejects.toThrow("`work` cannot prepare a two-phase commit");
    expect(await observer.query("select * from pg_prepared_xacts", [])).toEqual([]);
  });

  test("of postgres.js with a late savepoint does not undo what another one writes", async () => {
    const sql = postgres(server().connectionString, { max: 1, onnotice: () => {} });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const store = postgresStore(sql);
    for (let round = 0; round < 20; round += 1) {
      const late = gate();
      const careless = receiverOver({ store }, (context) =>
        store.transaction(context, async (tx) => {
          tx.savepoint(async () => {
            await late.opened;
            throw new Error("late");
          }).catch(() => {});
          await tx`select 1`;
        }),
      );
      await careless.receive(newDelivery());
      const careful = receiverOver({ store }, (context) =>
        store.transaction(context, async (tx) => {
          await tx.savepoint(async (nested) => {
            await nested`insert into effects (name) values (${`round ${round}`})`;
          });
          late.open();
          await new Promise(setImmediate);
          await tx`select 1`;
        }),
      );
      expect((await careful.receive(newDelivery())).code).toBe("processed");
    }
    expect(await effects(observer)).toHaveLength(20);
  });

  test.each<[string, unknown]>([
    ["a copy of the context", { fence: 1 }],
    ["nothing", undefined],
    ["a fence that is not a number", { idempotencyKey: key, fence: "1'); drop table effects; --" }],
    ["a fence that is not whole", { idempotencyKey: key, fence: 1.5 }],
  ])("that passes %s gets invalid_option, before anything begins", async (_what, context) => {
    const store = postgresStore(poolOf(1));
    const refused = { code: "invalid_option", option: "context" };
    const begin = store.transaction(context as never, async (tx) => tx.query(insert, ["a"]));
    await expect(begin).rejects.toMatchObject(refused);
    expect(() => store.finish(context as never)).toThrow(expect.objectContaining(refused));
    expect(await effects(observer)).toEqual([]);
  });

  test("that passes no function gets invalid_option", async () => {
    const store = postgresStore(poolOf(1));
    const context = await claimed(store);
    const begin = store.transaction(context, undefined as never);
    await expect(begin).rejects.toMatchObject({ code: "invalid_option", option: "work" });
  });

  test("of a receiver with a long lease keeps it, whatever leases others have", async () => {
    const pool = poolOf(2);
    const store = postgresStore(pool);
    const context = await claimed(store, { leaseMs: 120_000 });
    await store.claim("f".repeat(32), { ...claimBy("b"), leaseMs: 10_000 }, call);
    await store.transaction(context, async (tx) => {
      const { rows } = await tx.query("show idle_in_transaction_session_timeout");
      expect(rows).toEqual([{ idle_in_transaction_session_timeout: "2min" }]);
    });
  });

  test("with Kysely over a single client gets invalid_option before its first transaction does anything", async () => {
    const client = new Client({ connectionString: server().connectionString });
    await client.connect();
    onTestFinished(() => client.end());
    const lent = Object.assign(client, { release: () => {} });
    const pool = { connect: async () => lent, end: async () => {} };
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    const store = postgresStore(fromKysely(db, CompiledQuery));
    const { receive, handlerErrors } = receiverOver({ store }, (context) =>
      store.transaction(context, (tx) => tx.executeQuery(CompiledQuery.raw(insert, ["a"]))),
    );
    const outcomes = await Promise.all([receive(newDelivery()), receive(newDelivery())]);
    expect(outcomes.map(({ code }) => code)).toEqual(["handler_failed", "handler_failed"]);
    expect(handlerErrors).toMatchObject([{ option: "db" }, { option: "db" }]);
    expect(await effects(observer)).toEqual([]);
  });

  test("that builds a store over a single connection or in a transaction gets invalid_option", async () => {
    const connectionString = server().connectionString;
    const pool = poolOf(2);
    const sql = postgres(connectionString, { max: 2 });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const lent = await pool.connect();
    const reserved = await sql.reserve();
    const builds: [() => unknown, string][] = [
      [() => postgresStore(lent as never), "Pass a Pool"],
      [() => fromDrizzle(drizzleOverPg(lent), drizzleSql), "Pass a Pool"],
      [() => postgresStore(reserved as never), "Pass the `sql` that"],
    ];
    await sql.begin(async (tx) => {
      builds.push([() => postgresStore(tx as never), "Pass the `sql` that"]);
    });
    await drizzleOverPostgresJs(sql).transaction(async (tx) => {
      builds.push([() => fromDrizzle(tx, drizzleSql), "Pass the database itself"]);
    });
    const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    await kysely.transaction().execute(async (tx) => {
      builds.push([() => fromKysely(tx, CompiledQuery), "Pass the Kysely instance itself"]);
    });
    lent.release();
    reserved.release();
    for (const [build, fix] of builds) {
      expect(build).toThrow(expect.objectContaining({ code: "invalid_option", option: "db" }));
      expect(build).toThrow(fix);
    }
  });

  test("that migrates with a role without rights gets permission_denied", async () => {
    await observer.query("drop role if exists nobody", []);
    await observer.query("create role nobody login", []);
    const connectionString = server().connectionString.replace("postgres@", "nobody@");
    const pool = new Pool({ connectionString, max: 1 });
    onTestFinished(() => pool.end());
    await expect(migrate(pool, { schema: "forbidden" })).rejects.toMatchObject({
      code: "permission_denied",
    });
    await until(async () => (await pool.query("select 1")).rowCount === 1, "the pool is usable");
  });
});
