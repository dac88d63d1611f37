import type { DeliveryStore, StoreCall } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import {
  closableSockets,
  fromDrizzle,
  fromKysely,
  migrate,
  postgresStore,
  type PostgresStore,
  type RunIdentity,
} from "@svc-webhooks/postgres";
import { gate } from "@svc-webhooks/kit/gate";
import {
  clientKinds,
  pg,
  type ClientKind,
  type TestStore,
} from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
} from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { Client, Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
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

// An error that ends a process fails these tests too: vitest reports uncaught exceptions.

/** Ends the server's process of the open transaction, as an administrator does. */
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
  });
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
      // A crash of the server may lose the claim and its run number.
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
          // A handler that handles errors itself continues like this.
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
        // The row stays locked until the server has ended the transaction.
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

    /** Makes the commits wait. */
    const locked = async () => {
      const lock = new Client(server().connectionString);
      onTestFinished(() => lock.end());
      await lock.connect();
      await lock.query("select pg_advisory_lock(7)");
      await client.query(commitThatWaits, []);
      return lock;
    };

    const untilCommitWaits = () =>
      until(async () => {
        const [row] = await observer.query(
          "select count(*)::text from pg_stat_activity where wait_event = 'advisory'",
          [],
        );
        return row?.["count"] === "1";
      }, "the commit waits");

    test("is committed without a statement that work sends meanwhile, and nothing is logged", async () => {
      closing();
      const lock = await locked();
      const committing = gate();
      let late: Promise<unknown> | undefined;
      const { receive, lines } = receiverOver(client, (context) =>
        client.store.transaction(context, async (tx) => {
          late = committing.opened.then(() => client.queryIn(tx, insert, ["late"]));
          late.catch(() => {});
          await client.queryIn(tx, insert, ["a"]);
        }),
      );
      const result = receive(newDelivery());
      await untilCommitWaits();
      committing.open();
      const error: unknown = await late?.catch((reason: unknown) => reason);
      // Drizzle wraps the error.
      expect([error, (error as Error).cause].map(codeOf)).toContain("transaction_ended");
      await lock.query("select pg_advisory_unlock(7)");
      expect((await result).code).toBe("processed");
      expect(await effects(observer)).toEqual(["a"]);
      expect(lines).toEqual([]);
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
      const lock = await locked();
      onTestFinished(async () => {
        await client.close();
        await proxied.close();
        await proxy.close();
      });
      const { receive } = receiverOver(proxied, (context) =>
        proxied.store.transaction(context, (tx) =>
          proxied.queryIn(tx, insert, [`run ${context.run}`]),
        ),
      );
      const delivery = newDelivery();
      const first = receive(delivery);
      await untilCommitWaits();
      await interfere(proxy, () => lock.query("select pg_advisory_unlock(7)"));
      expect((await first).code).toBe("handler_failed");
      await until(async () => (await receive(delivery)).status === 200, "the delivery is accepted");
      expect(await effects(observer)).toHaveLength(1);
      expect(await statesOf(observer)).toEqual(["d"]);
    });
  });
});

/** A transaction whose effects wait for a lock at the commit. */
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
      // This claim would shorten the lease.
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
        idleTimeoutMillis: 0,
      });
      onTestFinished(() => pool.end());
      const store = over(pool);
      await migrate(pool);
      // The timeout is not set earlier: a busy machine may take longer to connect.
      pool.options.connectionTimeoutMillis = 100;
      await pool.query("truncate svc_webhooks.deliveries");
      const context = await claimed(store);
      await expect(store.transaction(context, () => pool.query("select 1"))).rejects.toMatchObject({
        code: "pool_timeout",
        message: expect.stringContaining("Use `tx`, not the pool, inside `transaction`"),
      });
      // The connection is free again. A transaction that finds no connection itself is a separate case.
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
      // The pool may not have noticed yet that some of its connections are closed.
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
      // This waits for the only connection.
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

describeWithPostgres("a call that is given up while its connection is being opened", () => {
  const server = useServer();

  test.each(clientKinds)("leaves the connection usable: $name", async ({ open }) => {
    const proxy = await tcpProxy(server().port);
    const client = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
    const direct = pg.open(server().connectionString);
    onTestFinished(async () => {
      await client.close();
      await direct.close();
      await proxy.close();
    });
    await prepare(direct);
    await proxy.set("hold");
    const deadlines = Array.from({ length: 10 }, () => new AbortController());
    const claims = deadlines.map(async ({ signal }, index) =>
      client.store.claim(keyOf(index), claimBy("late"), { signal }),
    );
    const results = Promise.allSettled(claims);
    await until(() => proxy.accepted() === 10, "all connections are being opened");
    for (const deadline of deadlines) deadline.abort();
    await proxy.set("none");
    await results;
    expect(await client.store.claim(key, claimBy("a"), call)).toMatchObject({ status: "claimed" });
    expect(await statesOf(direct)).toEqual(["r"]);
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

/** Starts a server that ends each connection with the bytes that open it, as one that is shutting down may. */
async function closingServer(): Promise<number> {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5, type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const opened = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))];
  const fatal = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(Buffer.concat([...opened, fatal])));
  });
  onTestFinished(() => void listener.close());
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return (listener.address() as AddressInfo).port;
}

describe("a connection that is ended by the bytes that open it", () => {
  test.each(["pg", "Drizzle over pg"])(
    "rejects the call, and its error has a listener: %s",
    async (name) => {
      const port = await closingServer();
      const kind = clientKinds.find((one) => one.name === name);
      const client = kind?.open(`postgres://x@127.0.0.1:${port}/x`) as TestStore;
      onTestFinished(() => client.close());
      await expect(client.store.claim(key, claimBy("a"), call)).rejects.toBeInstanceOf(Error);
      const context = { idempotencyKey: key, fence: 1 };
      await expect(client.store.transaction(context, async () => {})).rejects.toBeInstanceOf(Error);
    },
  );
});

/** Resolves to the error of a call that fails. The call is aborted if no reply can arrive. */
async function errorOf(proxy: TcpProxy, send: (storeCall: StoreCall) => unknown): Promise<unknown> {
  const deadline = new AbortController();
  const lost = proxy.lost();
  let isSettled = false;
  const error = Promise.resolve(send({ signal: deadline.signal }))
    .finally(() => (isSettled = true))
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  await until(() => isSettled || proxy.lost() > lost, "it is settled, or no reply can come");
  if (isSettled) return error;
  deadline.abort();
  return "no reply";
}

/** Resolves to the error of a claim that is not granted. */
const claimError = (store: DeliveryStore, proxy: TcpProxy, index = 0) =>
  errorOf(proxy, (storeCall) => store.claim(keyOf(index), claimBy("late"), storeCall));

/** Renews the lease until `isOver`. Resolves to the number of renewals. */
async function renewing(
  store: DeliveryStore,
  proxy: TcpProxy,
  leaseMs: number,
  isOver: () => boolean,
): Promise<number> {
  let renewals = 0;
  const renew = async (storeCall: StoreCall) => {
    if (await store.extend(key, { ...claimBy("a"), leaseMs }, storeCall)) renewals += 1;
  };
  while (!isOver()) await errorOf(proxy, renew);
  return renewals;
}

/** Returns the errors of deliveries that arrive one after the other. */
async function claimUntilGranted(store: DeliveryStore, proxy: TcpProxy) {
  const errors: unknown[] = [];
  while (errors.length < 20) {
    const error = await claimError(store, proxy, errors.length);
    if (!error) break;
    errors.push(error);
  }
  return errors;
}

/** Resolves to the errors of a claim, and of the next one once all silent connections are closed. */
async function errorsAroundLeaving(store: DeliveryStore, proxy: TcpProxy) {
  const first = await claimError(store, proxy);
  await until(() => proxy.abandoned() === 0, "the client has closed all of them");
  return [first, await claimError(store, proxy, 1)];
}

describeWithPostgres("connections that have stopped responding", () => {
  const server = useServer();

  const proxied = async (open: ClientKind["open"]) => {
    const proxy = await tcpProxy(server().port);
    const client = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
    onTestFinished(async () => {
      // The connections that were kept end with the proxy.
      await proxy.close();
      await client.close();
    });
    await prepare(client);
    return { proxy, client };
  };

  /** Opens all connections of a client, and silences them. */
  const abandonAll = async (client: TestStore, proxy: TcpProxy) => {
    await Promise.all(Array.from({ length: 10 }, () => client.query("select pg_sleep(0.1)", [])));
    expect(proxy.abandon()).toBe(10);
  };

  test.each(clientKinds)("are all left after one deadline: $name", async ({ open }) => {
    const { proxy, client } = await proxied(open);
    await abandonAll(client, proxy);
    expect(await errorsAroundLeaving(client.store, proxy)).toEqual(["no reply", undefined]);
  });

  test.each(
    clientKinds.flatMap(({ name, open }) => [
      { name, open, statement: "end", during: false },
      { name, open, statement: "statement", during: true },
    ]),
  )(
    "are left in transactions whose $statement has no reply for a lease: $name",
    async ({ name, open, during }) => {
      const { proxy, client } = await proxied(open);
      const works = Array.from({ length: 10 }, () => gate());
      const abandoned = gate();
      const contexts: RunIdentity[] = [];
      for (const index of works.keys()) {
        contexts.push(await claimed(client.store, { key: keyOf(index), leaseMs: 2_000 }));
      }
      const transactions = works.map(async (begun, index) => {
        await client.store.transaction(contexts[index] as RunIdentity, async (tx) => {
          await client.queryIn(tx, insert, ["a"]);
          begun.open();
          await abandoned.opened;
          if (during) await client.queryIn(tx, insert, ["b"]);
        });
      });
      const results = Promise.allSettled(transactions);
      await Promise.all(works.map((begun) => begun.opened));
      proxy.abandon();
      abandoned.open();
      const reasons = (await results).map((result) =>
        result.status === "rejected" ? (codeOf(result.reason) ?? "closed") : "committed",
      );
      expect(reasons).toContain("no_reply");
      // With postgres.js, the first call also closes the connections of the others.
      const codes = /postgres\.js/.test(name) ? ["no_reply", "closed"] : ["no_reply"];
      expect(codes).toEqual(expect.arrayContaining(reasons));
      // The pool's connections are free again, and the server's are closed.
      expect(await claimUntilGranted(client.store, proxy)).toEqual([]);
      expect(await effects(client)).toEqual([]);
    },
  );

  const deaths: readonly {
    readonly death: string;
    /** If only replies are lost, the server's session stays open, until it was idle for one lease. */
    readonly loses: "everything" | "replies";
    readonly leaseMs: number;
    readonly sends: boolean;
  }[] = [
    { death: "before a statement", loses: "everything", leaseMs: 30_000, sends: true },
    { death: "while work awaits none", loses: "everything", leaseMs: 30_000, sends: false },
    { death: "before a reply", loses: "replies", leaseMs: 2_000, sends: true },
  ];

  /** Resolves when the server has this many connections, each of which has executed its statements. */
  const untilIdle = async (count: number) => {
    const observer = pg.open(server().connectionString);
    onTestFinished(() => observer.close());
    await until(async () => {
      const others = await observer.query(
        "select state = 'idle' and query <> '' as idle from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
        [],
      );
      return others.length === count && others.every(({ idle }) => idle);
    }, `${count} connections are idle`);
  };

  test.each(clientKinds.flatMap(({ name, open }) => deaths.map((one) => ({ name, open, ...one }))))(
    "are left in a transaction in which one dies $death, although its lease is renewed: $name",
    async ({ name, open, loses, leaseMs, sends }) => {
      const { proxy, client } = await proxied(open);
      // Kysely's first transaction sends a probe on another connection.
      await client.store.transaction(
        await claimed(client.store, { key: keyOf(1), leaseMs }),
        async () => {},
      );
      await untilIdle(name.startsWith("Kysely") ? 2 : 1);
      const context = await claimed(client.store, { leaseMs });
      const errors: unknown[] = [];
      const [abandoned, ended] = [gate(), gate()];
      onTestFinished(() => ended.open());
      const result = client.store
        .transaction(context, async (tx) => {
          await client.queryIn(tx, insert, ["a"]);
          proxy.abandon({ loses });
          abandoned.open();
          // Without parameters, because postgres.js sends a statement with parameters in two steps, and between them the
          // server does not limit how long it waits.
          await (sends ? client.queryIn(tx, "insert into effects values ('b')") : ended.opened);
        })
        .catch((error: unknown) => errors.push(error));
      await abandoned.opened;
      if (sends) await until(() => proxy.lost() > 0, "the statement or its reply is lost");
      await renewing(client.store, proxy, leaseMs, () => errors.length > 0);
      await result;
      expect(errors).toMatchObject([
        { code: "no_reply", message: expect.stringMatching(/rolled the transaction back/) },
      ]);
      await until(() => proxy.abandoned() === 0, "the client has closed the dead connection");
      expect(await claimUntilGranted(client.store, proxy)).toEqual([]);
      expect(await effects(client)).toEqual([]);
    },
  );

  test.each(clientKinds)(
    "are not those of a transaction whose lease is renewed: $name",
    async ({ open }) => {
      const { proxy, client } = await proxied(open);
      const context = await claimed(client.store, { leaseMs: 1_000 });
      const work = { isSlow: true };
      const result = client.store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["a"]);
        await client.queryIn(tx, "select pg_sleep(3)");
        work.isSlow = false;
      });
      result.catch(() => (work.isSlow = false));
      expect(await renewing(client.store, proxy, 1_000, () => !work.isSlow)).toBeGreaterThan(2);
      await result;
      expect(await effects(client)).toEqual(["a"]);
    },
  );

  test("are not those of slow transactions that hold the whole pool, so that no lease can be renewed", async () => {
    const pool = new Pool({ connectionString: server().connectionString, max: 2 });
    onTestFinished(() => pool.end());
    const observer = pg.open(server().connectionString);
    onTestFinished(() => observer.close());
    await prepare(observer);
    const store = postgresStore(pool);
    const keys = [keyOf(1), keyOf(2)];
    const contexts = [];
    for (const one of keys) contexts.push(await claimed(store, { key: one, leaseMs: 1_000 }));
    // Both connections exist before the limit: a busy machine may take longer to connect.
    for (const one of [await pool.connect(), await pool.connect()]) one.release();
    pool.options.connectionTimeoutMillis = 100;
    const work = { isSlow: true };
    const results = Promise.all(
      contexts.map((context, index) =>
        store.transaction(context, async (tx) => {
          await tx.query(insert, [String(index)]);
          await tx.query("select pg_sleep(4)");
        }),
      ),
    ).finally(() => (work.isSlow = false));
    results.catch(() => {});
    const refusals: unknown[] = [];
    while (work.isSlow) {
      for (const one of keys) {
        const extended = async () => store.extend(one, { ...claimBy("a"), leaseMs: 1_000 }, call);
        await extended().catch((error: unknown) => refusals.push(codeOf(error)));
      }
    }
    await results;
    expect(refusals.length).toBeGreaterThan(0);
    expect(new Set(refusals)).toEqual(new Set(["not_sent"]));
    expect(new Set(await effects(observer))).toEqual(new Set(["0", "1"]));
  });

  test("are not those of the application's transactions that begin while one of Kysely finds no connection", async () => {
    const proxy = await tcpProxy(server().port);
    const connectionString = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const pool = new Pool({ connectionString, max: 1 });
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    onTestFinished(async () => {
      await db.destroy();
      await proxy.close();
    });
    const store = postgresStore(fromKysely(db, CompiledQuery, pool));
    await migrate(pool);
    await pool.query("truncate svc_webhooks.deliveries");
    const context = await claimed(store);
    const listeners = pool.listenerCount("acquire");
    const holder = await pool.connect();
    // This statement is sent before the store's, so that it is lent the connection first.
    const application = db.transaction().execute(async () => "committed");
    const waiting = store.transaction(context, async () => {});
    await proxy.set("hold");
    holder.release();
    await expect(waiting).rejects.toMatchObject({
      code: "no_reply",
      message: expect.stringContaining("did not begin"),
    });
    await proxy.set("none");
    expect(await application).toBe("committed");
    expect(pool.listenerCount("acquire")).toBe(listeners);
  });

  const kept: readonly (readonly [string, ClientKind["open"], string])[] = [
    [
      "postgres.js",
      (connectionString) => {
        const sql = postgres(connectionString, { max: 10, fetch_types: false, onnotice: () => {} });
        return {
          store: postgresStore(sql) as PostgresStore<unknown>,
          query: async (text, values) => sql.unsafe(text, [...values]),
          queryIn: () => Promise.reject(new Error("not used")),
          migrate: () => migrate(sql),
          close: () => sql.end({ timeout: 1 }),
        };
      },
      "{ ...closableSockets, fetch_types: false }",
    ],
    [
      "Kysely",
      (connectionString) => {
        const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 5_000 });
        pool
          .on("error", () => {})
          .on("connect", (client) => {
            client.on("error", () => {});
            // The recommended timeout is set once all connections are open: opening them may take longer on a
            // busy machine.
            if (pool.totalCount === 10) pool.options.connectionTimeoutMillis = 1_000;
          });
        const db = fromKysely(
          new Kysely<object>({ dialect: new PostgresDialect({ pool }) }),
          CompiledQuery,
        );
        return {
          store: postgresStore(db),
          query: db.query,
          queryIn: () => Promise.reject(new Error("not used")),
          migrate: () => migrate(db),
          close: () => pool.end(),
        };
      },
      "fromKysely(db, CompiledQuery, pool)",
    ],
  ];

  test.each(kept)(
    "are kept by %s without the option that check and the error name",
    async (_name, open, option) => {
      const { proxy, client } = await proxied(open);
      expect(await client.store.check()).toContainEqual(expect.stringContaining(option));
      await abandonAll(client, proxy);
      const errors = await claimUntilGranted(client.store, proxy);
      expect(errors[10]).toMatchObject({
        code: "not_sent",
        message: expect.stringContaining(option),
      });
    },
  );

  test.each(kept)(
    "are named with that option by the first lines of %s",
    async (_name, open, option) => {
      const { proxy, client } = await proxied(open);
      await abandonAll(client, proxy);
      const { receive, lines } = receiverOver(client, async () => {});
      // Two of the deliveries find no connection.
      await Promise.all(Array.from({ length: 12 }, () => receive(newDelivery())));
      await receive(newDelivery());
      expect(lines.length).toBeLessThanOrEqual(2);
      expect(lines.join("\n")).toContain(option);
    },
  );

  /** Starts slow statements of the application. Returns a function that counts those that still run. */
  const startSlow = async (query: TestStore["query"], count: number) => {
    const direct = pg.open(server().connectionString);
    onTestFinished(async () => {
      await direct.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where query = $1",
        [slow],
      );
      await direct.close();
    });
    const slow = `select pg_sleep(600) as slow_${(slowCount += 1)}`;
    let failed = 0;
    for (let index = 0; index < count; index += 1) query(slow, []).catch(() => (failed += 1));
    await until(async () => {
      const running = await direct.query("select from pg_stat_activity where query = $1", [slow]);
      return running.length === count;
    }, "the slow statements run");
    return () => count - failed;
  };
  let slowCount = 0;

  test.each(clientKinds)(
    "are left without a slow statement of the application: $name",
    async ({ open }) => {
      const { proxy, client } = await proxied(open);
      const running = await startSlow(client.query, 1);
      await Promise.all(Array.from({ length: 9 }, () => client.query("select pg_sleep(0.1)", [])));
      expect(proxy.abandon({ kept: 1 })).toBe(9);
      expect(await errorsAroundLeaving(client.store, proxy)).toEqual(["no reply", undefined]);
      expect(running()).toBe(1);
    },
  );

  test.each(clientKinds.filter(({ name }) => / over /.test(name)))(
    "are left by transactions whose begin has no reply: $name",
    async ({ open }) => {
      const { proxy, client } = await proxied(open);
      await abandonAll(client, proxy);
      const begins = Array.from({ length: 10 }, () => {
        const limit = new AbortController();
        const options = { first: "select 1", idleTimeoutMs: 0, signal: limit.signal };
        const result = Promise.allSettled([client.database?.transaction(async () => {}, options)]);
        return { limit, result };
      });
      const lost = 10 * "Q\0\0\0\nbegin\0".length;
      await until(() => proxy.lost() >= lost, "all begins were sent");
      for (const { limit } of begins) limit.abort();
      await Promise.all(begins.map(({ result }) => result));
      expect(await claimUntilGranted(client.store, proxy)).toEqual([]);
    },
  );

  test("keeps slow statements of postgres.js, for one of which a transaction waits", async () => {
    const sql = postgres(server().connectionString, {
      ...closableSockets,
      fetch_types: false,
      max: 3,
    });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const database = fromDrizzle(drizzleOverPostgresJs(sql), drizzleSql);
    const running = await startSlow(database.query, 3);
    const limit = new AbortController();
    const transaction = database.transaction(async () => {}, {
      first: "select",
      idleTimeoutMs: 0,
      signal: limit.signal,
    });
    transaction.catch(() => {});
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    limit.abort();
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(running()).toBe(3);
  });

  test.each([
    ...clientKinds,
    ...kept.map(([name, open]) => ({ name: `${name} without the option`, open })),
  ])(
    "that are only slow execute at most 20 of the claims whose deadline has passed: $name",
    async ({ open }) => {
      const { proxy, client } = await proxied(open);
      await proxy.set("hold");
      for (let index = 0; index < 100; index += 1) {
        const deadline = new AbortController();
        const late = { signal: deadline.signal };
        const claim = Promise.resolve(client.store.claim(keyOf(index), claimBy("late"), late));
        claim.catch(() => {});
        for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
        deadline.abort();
      }
      await proxy.set("none");
      await until(async () => {
        const claim = client.store.claim(keyOf(100), claimBy("a"), call);
        return Promise.resolve(claim).then(
          () => true,
          () => false,
        );
      }, "a claim is granted");
      expect((await statesOf(client)).length).toBeLessThanOrEqual(21);
    },
  );
});
