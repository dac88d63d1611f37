import { codeOf } from "@svc-webhooks/core";
import {
  fromDrizzle,
  fromKysely,
  migrate,
  postgresStore,
  type PostgresStore,
} from "@svc-webhooks/postgres";
import { gate } from "@svc-webhooks/kit/gate";
import { clientKinds, pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
} from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { Client, Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
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

// An error that ends a process also fails these tests: vitest reports uncaught exceptions.

/** Ends the server's process of the transaction that is open, as an administrator does. */
const terminate = (observer: TestStore) =>
  observer.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in transaction%'",
    [],
  );

describeWithPostgres("an open transaction", () => {
  const server = useServer();
  let observer: TestStore;
  beforeAll(async () => {
    observer = pg.open(server().connectionString);
  }, 60_000);
  afterAll(() => observer?.close());

  describe.each(clientKinds)("over $name", ({ open }) => {
    let client: TestStore;
    beforeEach(async () => {
      client = open(server().connectionString);
      await prepare(client);
    });
    const closing = () => onTestFinished(() => client.close());

    /** Loses the connection between two statements of the first run. */
    const losing = (lose: () => Promise<unknown>, between: (tx: unknown) => Promise<unknown>) => {
      // A crash of the server may forget the claim and its number of the run.
      let runs = 0;
      return receiverOver(client, (context) =>
        client.store.transaction(context, async (tx) => {
          runs += 1;
          const run = runs;
          await client.queryIn(tx, insert, [`before ${run}`]);
          if (run === 1) {
            await lose();
            await between(tx);
          }
          await client.queryIn(tx, insert, [`after ${run}`]);
        }),
      );
    };

    test("is rolled back if its connection is terminated, and nothing runs outside of it", async () => {
      closing();
      const done = gate();
      const errors: unknown[] = [];
      const { receiveAll } = losing(
        () => terminate(observer),
        async (tx) => {
          // The driver has noticed the loss, and connected again for others.
          await until(async () => {
            await Promise.all(Array.from({ length: 20 }, () => client.query("select 1", [])));
            const [row] = await observer.query(
              "select count(*)::text from pg_stat_activity where state like 'idle in tr%'",
              [],
            );
            return row?.["count"] === "0";
          }, "the transaction has ended");
          for (let round = 0; round < 3; round += 1) {
            await client.queryIn(tx, insert, ["outside"]).catch((error) => errors.push(error));
            await Promise.all(Array.from({ length: 20 }, () => client.query("select 1", [])));
          }
          done.open();
        },
      );
      const delivery = newDelivery();
      const codes = receiveAll(delivery, delivery);
      await done.opened;
      expect(await codes).toEqual(["handler_failed", "processed"]);
      expect(errors).toHaveLength(3);
      expect(await effects(observer)).toEqual(["before 2", "after 2"]);
    });

    test("is rolled back if its connection is terminated during a statement", async () => {
      closing();
      const { receiveAll } = losing(
        async () => {},
        async (tx) => {
          const sleep = client.queryIn(tx, "select pg_sleep(20)");
          // What a handler does that handles errors itself.
          const retried = sleep.catch(() => client.queryIn(tx, insert, ["outside"]));
          retried.catch(() => {});
          await until(async () => {
            const rows = await observer.query(
              "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%'",
              [],
            );
            return rows.length > 0;
          }, "the statement runs");
          await retried;
        },
      );
      const delivery = newDelivery();
      expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "processed"]);
      expect(await effects(observer)).toEqual(["before 2", "after 2"]);
    });

    test("is rolled back by the server if it is idle for longer than a lease", async () => {
      closing();
      const context = await claimed(client.store, { leaseMs: 200 });
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["a"]);
        await client.queryIn(tx, "select * from svc_webhooks.deliveries for update");
        // Only when the server has ended it is the row free again.
        await observer.query("select * from svc_webhooks.deliveries for update", []);
        await client.queryIn(tx, insert, ["b"]);
      });
      await expect(result).rejects.toBeInstanceOf(Error);
      expect(await effects(observer)).toEqual([]);
      expect(await claimed(client.store)).toMatchObject({ fence: expect.any(Number) });
      expect(await client.query("select 1 as one", [])).toHaveLength(1);
    });

    test("does not survive a crash of the server, after which deliveries are processed again", async () => {
      closing();
      const crashing = async () => {
        await server().crash();
        await server().restart();
      };
      const { receive, codes } = losing(crashing, async () => {});
      const delivery = newDelivery();
      expect((await receive(delivery)).code).toBe("handler_failed");
      await until(async () => {
        const { code } = await receive(delivery);
        if (code === "in_flight") {
          await observer.query("update svc_webhooks.deliveries set lease_ends_at = now()", []);
        }
        return code === "processed";
      }, "the delivery is processed");
      expect(await effects(observer)).toEqual(["before 2", "after 2"]);
      expect(await statesOf(observer)).toEqual(["d"]);
      expect(codes()).not.toContain("duplicate");
    });

    test.each<[string, (proxy: TcpProxy, unlock: () => Promise<unknown>) => Promise<unknown>]>([
      [
        "ended by the server",
        async (_proxy, unlock) => {
          await observer.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'advisory'",
            [],
          );
          await unlock();
        },
      ],
      [
        "cut off, but executed",
        async (proxy, unlock) => {
          await proxy.set("reset");
          await proxy.set("none");
          await unlock();
        },
      ],
      [
        "executed, and its reply lost",
        async (proxy, unlock) => {
          const lost = proxy.loseReply();
          await unlock();
          await lost;
        },
      ],
    ])("has its effects once if its commit is %s", async (_name, interfere) => {
      const proxy = await tcpProxy(server().port);
      const proxied = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
      const lock = new Client(server().connectionString);
      onTestFinished(async () => {
        await lock.end();
        await client.close();
        await proxied.close();
        await proxy.close();
      });
      await lock.connect();
      await lock.query("select pg_advisory_lock(7)");
      await client.query(commitThatWaits, []);
      const { receive } = receiverOver(proxied, (context) =>
        proxied.store.transaction(context, (tx) =>
          proxied.queryIn(tx, insert, [`run ${context.run}`]),
        ),
      );
      const delivery = newDelivery();
      const first = receive(delivery);
      await until(async () => {
        const [row] = await observer.query(
          "select count(*)::text from pg_stat_activity where wait_event = 'advisory'",
          [],
        );
        return row?.["count"] === "1";
      }, "the commit waits");
      await interfere(proxy, () => lock.query("select pg_advisory_unlock(7)"));
      expect((await first).code).toBe("handler_failed");
      await until(async () => (await receive(delivery)).status === 200, "the delivery is accepted");
      expect(await effects(observer)).toHaveLength(1);
      expect(await statesOf(observer)).toEqual(["d"]);
    });
  });
});

/** A transaction with effects waits for a lock when it is committed. */
const commitThatWaits = `
  create or replace function wait() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
  create constraint trigger waits after insert on effects deferrable initially deferred
    for each row execute function wait()`;

describeWithPostgres("a row that a frozen process has locked", () => {
  const server = useServer();

  test("holds no other call for longer than a second or two", async () => {
    const pool = new Pool({ connectionString: server().connectionString, max: 10 });
    const client = pg.open(server().connectionString);
    onTestFinished(async () => {
      await pool.end();
      await client.close();
    });
    await prepare(client);
    const context = await claimed(client.store);
    const frozen = await pool.connect();
    await frozen.query("begin");
    const { text, values } = client.store.finish(context);
    await frozen.query(text, values);
    const other = claimBy("b");
    expect(await client.store.claim(key, other, call)).toMatchObject({ status: "busy" });
    const results = await Promise.allSettled([
      // It would shorten the lease.
      client.store.claim(key, { ...other, leaseMs: 1 }, call),
      client.store.complete(key, other, call),
      client.store.complete(key, claimBy("a"), call),
    ]);
    const refused = expect.objectContaining({ reason: expect.objectContaining({ code: "55P03" }) });
    expect(results).toEqual([refused, refused, refused]);
    expect(await client.store.release(key, { ...other, to: "unused" }, call)).toBe(false);
    await frozen.query("commit");
    frozen.release();
    expect(await client.store.claim(key, other, call)).toMatchObject({ status: "done" });
  });
});

describeWithPostgres("a pool whose connections are all in transactions", () => {
  const server = useServer();

  const kinds: Readonly<Record<string, (pool: Pool) => PostgresStore<unknown>>> = {
    pg: (pool) => postgresStore(pool),
    "Kysely over pg": (pool) =>
      postgresStore(
        fromKysely(new Kysely<object>({ dialect: new PostgresDialect({ pool }) }), CompiledQuery),
      ),
    "Drizzle over pg": (pool) => postgresStore(fromDrizzle(drizzle(pool), drizzleSql)),
  };

  test.each(Object.entries(kinds))(
    "rejects work that uses the pool with the fix: %s",
    async (_name, over) => {
      const pool = new Pool({
        connectionString: server().connectionString,
        max: 1,
        connectionTimeoutMillis: 100,
      });
      onTestFinished(() => pool.end());
      const store = over(pool);
      await migrate(pool);
      await pool.query("truncate svc_webhooks.deliveries");
      const context = await claimed(store);
      await expect(store.transaction(context, () => pool.query("select 1"))).rejects.toMatchObject({
        code: "pool_timeout",
        message: expect.stringContaining("use `tx`, not the pool, inside `transaction`"),
      });
      // The connection is free again. A transaction that itself finds none is another matter.
      const client = await pool.connect();
      const waiting = store.transaction(context, async () => {});
      await expect(waiting).rejects.not.toMatchObject({ code: "pool_timeout" });
      client.release();
      await store.transaction(context, async () => {});
    },
  );
});

describeWithPostgres("a server that is gone", () => {
  const server = useServer();

  test.each(["pg", "postgres.js"])(
    "is reported as not_sent, until it is back: %s",
    async (name) => {
      const client = clientKinds
        .find((kind) => kind.name === name)
        ?.open(server().connectionString) as TestStore;
      onTestFinished(() => client.close());
      await prepare(client);
      const { receive, lines } = receiverOver(client, async () => {});
      await server().crash();
      // The pool may still have connections of which it does not know that they are closed.
      await until(async () => {
        const error: unknown = await Promise.resolve(
          client.store.claim(key, claimBy("a"), call),
        ).catch((reason: unknown) => reason);
        return codeOf(error) === "not_sent";
      }, "a claim is not sent");
      expect(await receive(newDelivery())).toMatchObject({
        status: 503,
        code: "store_unavailable",
      });
      expect(lines.join("\n")).toContain("ECONNREFUSED");
      await server().restart();
      await until(async () => (await receive(newDelivery())).status === 200, "it is accepted");
    },
  );

  test.each(["pg", "postgres.js"])("gets no call whose deadline has passed: %s", async (name) => {
    const connectionString = server().connectionString;
    const pool = new Pool({ connectionString, max: 1 });
    const sql = postgres(connectionString, { max: 1 });
    onTestFinished(async () => {
      await pool.end();
      await sql.end();
    });
    const store =
      name === "pg"
        ? (postgresStore(pool) as PostgresStore<unknown>)
        : (postgresStore(sql) as PostgresStore<unknown>);
    await migrate(pool);
    await pool.query("truncate svc_webhooks.deliveries");
    const context = await claimed(store);
    const deadline = new AbortController();
    const queued = gate();
    let late: Promise<unknown> | undefined;
    await store.transaction(context, async () => {
      // It waits for the only connection.
      late = Promise.resolve(
        store.claim("f".repeat(32), claimBy("b"), { signal: deadline.signal }),
      );
      late.catch(() => {});
      await new Promise(setImmediate);
      deadline.abort();
      queued.open();
    });
    await queued.opened;
    await expect(late).rejects.toMatchObject({ code: "not_sent" });
    const { rows } = await pool.query("select count(*)::text from svc_webhooks.deliveries");
    expect(rows).toEqual([{ count: "1" }]);
  });
});

describeWithPgBouncer("an idle transaction behind PgBouncer", () => {
  const server = useServer();

  test("is ended by the server, and its connection is not reused", async () => {
    const bouncer = await pgBouncer(server());
    const client = pg.open(bouncer.connectionString);
    onTestFinished(async () => {
      await client.close();
      await bouncer.close();
    });
    await prepare(client);
    const context = await claimed(client.store, { leaseMs: 200 });
    const result = client.store.transaction(context, async (tx) => {
      await client.queryIn(tx, insert, ["a"]);
      await client.queryIn(tx, "lock table effects");
      await client.query("select * from effects", []);
    });
    await expect(result).rejects.toBeInstanceOf(Error);
    expect(await effects(client)).toEqual([]);
    await client.store.transaction(await claimed(client.store), (tx) =>
      client.queryIn(tx, insert, ["b"]),
    );
    expect(await effects(client)).toEqual(["b"]);
  });
});
