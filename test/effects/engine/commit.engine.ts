import { createIntake, createReceiver, memoryStore, type Receiver } from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import {
  clientKinds,
  pg as overPg,
  type ClientKind,
  type TestStore,
} from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { patient } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createBoss, type Data, type Db, type Job } from "./boss.js";
import { graphile, silent } from "./graphile.js";
import { addJob, chargingLater, overDrizzle, overKysely, overPostgresJs } from "./recipe.js";

/** The value of `db` by client. */
const dbOf: Readonly<Record<string, (tx: unknown) => Db>> = {
  pg: (tx) => ({ executeSql: (text, values) => (tx as Pool).query(text, values) }),
  "postgres.js": overPostgresJs,
  "Kysely over pg": overKysely,
  "Drizzle over pg": overDrizzle,
  "Drizzle over postgres.js": overDrizzle,
};

describeWithPostgres("a job that is stored in a transaction", () => {
  let server: PostgresServer;
  let admin: Pool;
  beforeAll(async () => {
    vi.stubEnv("SVC_WEBHOOK_SECRET", secret);
    for (const level of ["info", "warn", "error"] as const)
      vi.spyOn(console, level).mockReturnValue();
    server = await postgresServer();
    admin = new Pool({ connectionString: server.connectionString });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await admin?.end();
    await server?.close();
  });

  let databases = 0;

  /** Creates a database with orders and two engines. Without `queue`, pg-boss has no queue. */
  const worldOf = async (kind: ClientKind, queue?: object) => {
    databases += 1;
    const database = `effects_${databases}`;
    await admin.query(`create database ${database}`);
    const connectionString = server.connectionString.replace(/\w+$/, database);
    const pool = new Pool({ connectionString });
    const client = kind.open(connectionString);
    await client.migrate();
    await pool.query("create table orders (id text primary key)");
    await graphile.runMigrations({ pgPool: pool, logger: silent() });
    const boss = createBoss(connectionString);
    await boss.start();
    if (queue) {
      await boss.createQueue("charge_dead");
      await boss.createQueue("charge", queue);
    }
    onTestFinished(async () => {
      await boss.stop({ graceful: false });
      await client.close();
      await pool.end();
    });
    const select = async (text: string, order: string) =>
      (await pool.query<{ data: Data }>(text, [order])).rows.map(({ data }) => data);
    return {
      pool,
      boss,
      client,
      rows: (order: string) =>
        select("select to_json(id) as data from orders where id = $1", order),
      jobs: {
        "pg-boss": (order: string) =>
          select(
            "select data from pgboss.job where name = 'charge' and data ->> 'order' = $1",
            order,
          ),
        "Graphile Worker": (order: string) =>
          select(
            "select payload as data from graphile_worker._private_jobs where payload ->> 'order' = $1",
            order,
          ),
      },
    };
  };

  type World = Awaited<ReturnType<typeof worldOf>>;

  const engines = {
    "pg-boss": (kind: ClientKind, { boss }: World, tx: unknown, data: Data) =>
      boss.send("charge", data, { db: dbOf[kind.name]?.(tx) }),
    "Graphile Worker": (_kind: ClientKind, { client }: World, tx: unknown, data: Data) =>
      client.queryIn(tx, addJob, [data.key, data.order]),
  };
  type Engine = keyof typeof engines;

  const insert = ({ queryIn }: TestStore, tx: unknown, order: string) =>
    queryIn(tx, "insert into orders (id) values ($1)", [order]);

  /** Sends an event about an order. */
  const sendTo = async (receiver: Pick<Receiver, "receive">, order: string) => {
    const body = eventBody("order.paid", { order });
    const outcome = await receiver.receive(await signed(body, { "x-svc-delivery-id": order }));
    return `${outcome.status} ${outcome.code}`;
  };

  /** Returns a receiver that stores a job, and calls `then` before the commit. */
  const receiverOf = (
    world: World,
    store: (tx: unknown, data: Data) => unknown,
    then: () => unknown = () => {},
  ) =>
    createReceiver({
      secret,
      name: "orders",
      store: world.client.store,
      storeTimeouts: patient,
      log: () => {},
      onHandlerError: () => {},
      on: {
        "order.paid": (event, context) =>
          world.client.store.transaction(context, async (tx) => {
            const order = String(event["order"]);
            await insert(world.client, tx, order);
            await store(tx, { key: context.idempotencyKey, order });
            await then();
          }),
      },
    });

  describe.each(Object.keys(engines) as readonly Engine[])("of %s", (engine) => {
    test.each(clientKinds)("through $name commits with the row, or not at all", async (kind) => {
      const world = await worldOf(kind, {});
      let isFailing = false;
      const keys = new Set<string>();
      const receiver = receiverOf(
        world,
        async (tx, data) => {
          keys.add(data.key);
          await engines[engine](kind, world, tx, data);
        },
        () => {
          if (isFailing) throw new Error("The handler fails after it has stored the job.");
        },
      );
      const found = async (order: string) => [
        await world.rows(order),
        await world.jobs[engine](order),
      ];

      expect(await sendTo(receiver, "a")).toBe("200 processed");
      expect(await found("a")).toEqual([["a"], [{ key: [...keys][0], order: "a" }]]);
      expect(await sendTo(receiver, "a")).toBe("200 duplicate");
      expect(await found("a")).toMatchObject([["a"], [{ order: "a" }]]);

      isFailing = true;
      keys.clear();
      expect(await sendTo(receiver, "b")).toBe("500 handler_failed");
      expect(await found("b")).toEqual([[], []]);
      isFailing = false;
      // The completion was rolled back too. The key is the same.
      expect(await sendTo(receiver, "b")).toBe("200 processed");
      expect([...keys]).toHaveLength(1);
      expect(await found("b")).toEqual([["b"], [{ key: [...keys][0], order: "b" }]]);

      // Another process takes the delivery over as soon as its row is written.
      await world.pool.query(`
        create function take_over() returns trigger language plpgsql as
          'begin update svc_webhooks.deliveries set fence = fence + 1 where state = ''r''; return new; end';
        create trigger taken after insert on orders execute function take_over()`);
      expect(await sendTo(receiver, "c")).toBe("500 handler_failed");
      expect(await found("c")).toEqual([[], []]);
    });
  });

  test("is stored by the receiver of the page, once", async () => {
    const { pool, boss, rows, jobs } = await worldOf(overPg, {});
    const receiver = chargingLater(pool, boss);
    expect(await sendTo(receiver, "a")).toBe("200 processed");
    expect(await sendTo(receiver, "a")).toBe("200 duplicate");
    expect(await rows("a")).toEqual(["a"]);
    expect(await jobs["pg-boss"]("a")).toEqual([{ key: expect.any(String) as string, order: "a" }]);
  });

  test("is invisible to workers before the commit", async () => {
    const world = await worldOf(overPg, {});
    const [stored, released] = [gate(), gate()];
    const receiver = receiverOf(
      world,
      (tx, data) => engines["pg-boss"](overPg, world, tx, data),
      async () => {
        stored.open();
        await released.opened;
      },
    );
    const sent = sendTo(receiver, "a");
    await stored.opened;
    expect(await world.boss.fetch("charge")).toEqual([]);
    released.open();
    expect(await sent).toBe("200 processed");
    expect(await world.boss.fetch("charge")).toMatchObject([{ data: { order: "a" } }]);
  });

  test("without `db` stays when the row is rolled back, and each attempt stores another", async () => {
    const world = await worldOf(overPg, {});
    const receiver = receiverOf(
      world,
      (_tx, data) => world.boss.send("charge", data),
      () => {
        throw new Error("The handler fails.");
      },
    );
    for (const _ of [1, 2]) expect(await sendTo(receiver, "a")).toBe("500 handler_failed");
    expect(await world.rows("a")).toEqual([]);
    expect(await world.jobs["pg-boss"]("a")).toHaveLength(2);
  });

  test("for a queue that does not exist fails the event, which is processed when it does", async () => {
    const { pool, boss, rows, jobs } = await worldOf(overPg);
    const receiver = chargingLater(pool, boss);
    for (const _ of [1, 2]) expect(await sendTo(receiver, "a")).toBe("500 handler_failed");
    expect([await rows("a"), await jobs["pg-boss"]("a")]).toEqual([[], []]);
    await boss.createQueue("charge");
    expect(await sendTo(receiver, "a")).toBe("200 processed");
    expect(await rows("a")).toEqual(["a"]);
    expect(await jobs["pg-boss"]("a")).toMatchObject([{ order: "a" }]);
  });

  test("keeps its key in a dead letter and its redrive, which have other ids", async () => {
    const { pool, boss } = await worldOf(overPg, { retryLimit: 1, deadLetter: "charge_dead" });
    expect(await sendTo(chargingLater(pool, boss), "a")).toBe("200 processed");
    const runs: Job[] = [];
    let isDeclined = true;
    // The worker of rule 5: an intake runs the effect once for a key, whatever the job's id.
    let charges = 0;
    const effects = createIntake({
      name: "effects",
      store: memoryStore(),
      sources: ["pg-boss"],
      log: () => {},
      onHandlerError: () => {},
      on: {
        charge: () => {
          charges += 1;
          if (isDeclined) throw new Error("The charge is declined.");
        },
      },
    });
    await boss.work("charge", { pollingIntervalSeconds: 0.5 }, async ([job]) => {
      if (!job) return;
      runs.push(job);
      const { data } = job;
      const event = { source: "pg-boss", id: data.key, type: "charge", body: data } as const;
      if ((await effects.accept(event)).status >= 300) throw new Error("Not done.");
    });
    let letters: readonly Job[] = [];
    await until(async () => {
      ({ rows: letters } = await pool.query<Job>(
        "select id, data from pgboss.job where name = 'charge_dead'",
      ));
      return letters.length > 0;
    }, "the job is a dead letter");
    // The retry had the same id.
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    expect(runs).toHaveLength(2);

    isDeclined = false;
    expect(await boss.redrive("charge_dead")).toBe(1);
    await until(() => runs.length === 3, "the redriven job runs");
    const [letter] = letters;
    expect(new Set([runs[0]?.id, letter?.id, runs[2]?.id]).size).toBe(3);
    const keys = [...runs, ...letters].map(({ data }) => data.key);
    expect([...new Set(keys)]).toEqual([expect.stringMatching(/./)]);

    await until(() => charges === 3, "the charge succeeds");
    const [{ data }] = runs as [Job];
    const again = { source: "pg-boss", id: data.key, type: "charge", body: data } as const;
    expect((await effects.accept(again)).code).toBe("duplicate");
  });
});
