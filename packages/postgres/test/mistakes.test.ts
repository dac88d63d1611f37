import { pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { gate } from "@svc-webhooks/kit/gate";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { fromKysely, migrate, postgresStore } from "@svc-webhooks/postgres";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
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

describeWithPostgres("a handler", () => {
  const server = useServer();
  let observer: TestStore;
  beforeAll(async () => {
    observer = pg.open(server().connectionString);
  }, 60_000);
  beforeEach(() => prepare(observer));
  afterAll(() => observer?.close());

  const poolOf = (max: number) => {
    const connectionString = server().connectionString;
    const pool = new Pool({ connectionString, max, connectionTimeoutMillis: 5_000 });
    onTestFinished(() => pool.end());
    return pool;
  };

  test("that does not await its transaction is not completed before it", async () => {
    const store = postgresStore(poolOf(4));
    const { receiveAll } = receiverOver({ store }, async (context) => {
      void store.transaction(context, async (tx) => {
        await tx.query("select pg_sleep(0.05)");
        await tx.query(insert, ["a"]);
      });
    });
    const delivery = newDelivery();
    expect(await receiveAll(delivery, delivery)).toEqual(["processed", "duplicate"]);
    expect(await effects(observer)).toEqual(["a"]);
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
      message: expect.stringContaining("its error was caught"),
    });
  });

  // Kysely guards what it compiles, so these statements reach the server between the completion and the commit.
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
