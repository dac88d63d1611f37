import { preparingKinds, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
  type PgBouncer,
} from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { migrate, postgresStore, type PostgresStore } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
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

const lostName = expect.stringContaining("set `max_prepared_statements`");

/** Calls each statement of the store that is sent outside of a transaction. */
async function useAll(store: PostgresStore<unknown>): Promise<void> {
  await claimed(store);
  expect(await store.extend(key, { ...claimBy("a"), leaseMs: 60_000 }, call)).toBe(true);
  expect(await store.peek?.([key], call)).toEqual(["running"]);
  expect(await store.release(key, { ...claimBy("a"), to: "failed" }, call)).toBe(true);
  await claimed(store);
  expect(await store.complete(key, claimBy("a"), call)).toBe("owner");
  expect(await store.forget(key, call)).toBe(true);
  expect(await store.purge()).toBe(0);
}

describeWithPostgres("named statements of pg", () => {
  const server = useServer();

  const openPool = (max = 1) => {
    const { connectionString } = server();
    const pool = new Pool({ connectionString, max, connectionTimeoutMillis: 5_000 });
    onTestFinished(() => pool.end());
    return pool;
  };

  /** Returns the statements that the server keeps for the pool's connection. */
  const kept = async (pool: Pool) => {
    const { rows } = await pool.query<{ name: string; statement: string }>(
      "select name, statement from pg_prepared_statements where name <> ''",
    );
    return rows;
  };

  test("have names of their own in each schema", async () => {
    const pool = openPool();
    for (const schema of ["first", "second"]) {
      await migrate(pool, { schema });
      await useAll(postgresStore(pool, { schema, prepare: true }));
    }
    const statements = await kept(pool);
    expect(new Set(statements.map(({ name }) => name)).size).toBe(14);
    for (const schema of ["first", "second"]) {
      expect(statements).toContainEqual({
        name: expect.stringMatching(/^svc_[0-9a-f]{16}$/),
        statement: expect.stringMatching(`^select "${schema}"\\.claim_1\\(`),
      });
    }
    await useAll(postgresStore(pool, { schema: "first", prepare: true }));
    expect(await kept(pool)).toHaveLength(14);
  });

  test("require the option", async () => {
    const pool = openPool();
    await migrate(pool);
    await useAll(postgresStore(pool));
    expect(await kept(pool)).toEqual([]);
  });

  test("are not used again on a connection on which another client has taken a name", async () => {
    const pool = openPool();
    await migrate(pool);
    const store = postgresStore(pool, { prepare: true });
    await useAll(store);
    const taking = openPool();
    for (const { name } of await kept(pool)) {
      await taking.query(`prepare "${name}" as select 1`);
    }
    const taken = await kept(taking);
    const second = postgresStore(taking, { prepare: true });
    await useAll(second);
    await useAll(second);
    expect(await kept(taking)).toEqual(taken);
    expect(await second.check()).toContainEqual(lostName);
    expect(await store.check()).not.toContainEqual(lostName);
  });

  test("are not used again on a connection on which they were lost, but on others", async () => {
    const pool = openPool(2);
    await migrate(pool);
    const store = postgresStore(pool, { prepare: true });
    await useAll(store);
    await pool.query("deallocate all");
    await useAll(store);
    expect(await store.check()).toContainEqual(lostName);
    const client = await pool.connect();
    client.release();
    const queries = vi.spyOn(client, "query");
    await useAll(store);
    expect(queries.mock.calls.map(([statement]) => typeof statement)).not.toContain("object");
    const busy = await pool.connect();
    await useAll(store);
    expect(await kept(pool)).toHaveLength(7);
    busy.release();
  });

  test("end with the plan if the type of a result has changed, which `check` does not report", async () => {
    const pool = openPool();
    await migrate(pool);
    const store = postgresStore(pool, { prepare: true });
    await useAll(store);
    await pool.query(`drop function svc_webhooks.purge_1;
      create function svc_webhooks.purge_1(at_most text) returns varchar language sql as 'select ''7''::varchar'`);
    onTestFinished(async () => void (await pool.query("drop schema svc_webhooks cascade")));
    expect(await store.purge()).toBe(7);
    expect(await store.check()).not.toContainEqual(lostName);
  });
});

describeWithPostgres("named statements", () => {
  const server = useServer();

  describe.each(preparingKinds)("over $name", ({ open }) => {
    let client: TestStore;
    beforeEach(async () => {
      client = open(server().connectionString);
      await prepare(client);
    });
    afterEach(() => client.close());

    test("survive a new schema", async () => {
      await useAll(client.store);
      await client.query("drop schema svc_webhooks cascade", []);
      expect(await client.migrate()).toBe(true);
      await useAll(client.store);
    });

    test("survive a changed function and table", async () => {
      await useAll(client.store);
      for (const change of [
        "drop function svc_webhooks.forget_1",
        "alter table svc_webhooks.deliveries add column later text",
      ]) {
        await client.query(change, []);
      }
      expect(await client.migrate()).toBe(true);
      await useAll(client.store);
    });

    test("that are lost in a transaction complete no delivery without its effects", async () => {
      const { receiveAll } = receiverOver(client, (context) =>
        client.store.transaction(context, async (tx) => {
          await client.queryIn(tx, insert, [context.deliveryId]);
          if (isForgetting) await client.queryIn(tx, "deallocate all");
        }),
      );
      let isForgetting = false;
      expect(await receiveAll(newDelivery())).toEqual(["processed"]);
      isForgetting = true;
      const delivery = newDelivery();
      const [first] = await receiveAll(delivery);
      expect(await effects(client)).toHaveLength(first === "processed" ? 2 : 1);
      isForgetting = false;
      // postgres.js finds out one statement after the other which names are lost.
      const codes = await receiveAll(...Array.from({ length: 5 }, () => delivery));
      expect(codes).not.toContain("store_unavailable");
      expect(codes.at(-1)).toBe("duplicate");
      expect(await effects(client)).toHaveLength(2);
      expect(await statesOf(client)).toEqual(["d", "d"]);
    });
  });
});

describeWithPgBouncer("named statements behind a pooler that does not support them", () => {
  const server = useServer();
  let bouncer: PgBouncer;
  beforeAll(async () => {
    bouncer = await pgBouncer(server());
  });
  afterAll(() => bouncer?.close());

  describe.each(preparingKinds)("over $name", ({ open }) => {
    let client: TestStore;
    let direct: TestStore;
    beforeEach(async () => {
      client = open(bouncer.connectionString);
      direct = open(server().connectionString);
      await prepare(direct);
    });
    afterEach(async () => {
      await client.close();
      await direct.close();
    });

    const deliveries = Array.from({ length: 100 }, newDelivery);

    test("fail no delivery outside of a transaction", async () => {
      const { receiveAll } = receiverOver(client, ({ deliveryId }) =>
        direct.query(insert, [deliveryId]),
      );
      const codes = await Promise.all(deliveries.map((delivery) => receiveAll(delivery, delivery)));
      expect(new Set(codes.flat())).toEqual(new Set(["processed", "duplicate"]));
      expect(await effects(direct)).toHaveLength(deliveries.length);
      expect(await client.store.check()).toContainEqual(expect.stringContaining("pooler"));
    });

    test("neither fail nor repeat a transaction", async () => {
      const { receive } = receiverOver(client, (context) =>
        client.store.transaction(context, (tx) => client.queryIn(tx, insert, [context.deliveryId])),
      );
      const deliver = async (delivery: ReturnType<typeof newDelivery>): Promise<void> => {
        while ((await receive(delivery)).status >= 500);
      };
      await Promise.all(deliveries.map(deliver));
      expect(new Set(await effects(direct)).size).toBe(deliveries.length);
      expect(await effects(direct)).toHaveLength(deliveries.length);
      expect(new Set(await statesOf(direct))).toEqual(new Set(["d"]));
    });
  });
});
