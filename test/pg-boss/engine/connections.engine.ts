import { memoryStore } from "@svc-webhooks/core";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";
import { untilAvailable } from "@svc-webhooks/kit/until-available";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { selecting } from "../../contracts/contract-cases.js";
import { bossOf } from "./boss.js";
import { idOf, worldOf } from "./world.js";

/** Registers only the cases about silent connections: `contract.engine.ts` runs the others. */
const runner = selecting({ describe, it: test.concurrent }, /silently died/);

describeWithPostgres("an inbox on pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server?.close());

  let queues = 0;

  inboxContract(
    runner,
    "leaves connections of pg-boss that have silently died",
    async ({ attempts }) => {
      const queue = `connections-${(queues += 1)}`;
      const opened: (() => Promise<unknown>)[] = [];
      const connect = async () => {
        const proxy = await tcpProxy(server.port);
        const boss = bossOf(server.connectionString.replace(/:\d+\//, `:${proxy.port}/`));
        await boss.start();
        const inbox = pgBossInbox(boss, { queue, retry: { limit: attempts } });
        await inbox.setup();
        opened.push(async () => {
          await boss.stop({ graceful: false });
          await proxy.close();
        });
        return {
          inbox,
          admin: inbox.admin,
          async work(receiver: Parameters<typeof inbox.work>[0]) {
            const worker = await inbox.work(receiver);
            return { stop: () => worker.stop({ deadlineMs: 1_000 }) };
          },
          silence: () => void proxy.abandon(),
        };
      };
      return {
        connect,
        inject: () => Promise.reject(new Error("No case of these injects a job.")),
        close: () => Promise.all(opened.map((close) => close())),
      };
    },
    { kill: false, silence: true },
  );

  test("a statement that waits for a lock keeps its connection, and spends no attempt", async () => {
    const runs: string[] = [];
    const world = await worldOf(server, (event) => void runs.push(idOf(event)), {
      retry: { limit: 1 },
      receiver: { store: memoryStore() },
    });
    for (let index = 0; index < 20; index += 1) await world.send(`a${index}`);
    const locking = new Client({ connectionString: server.connectionString });
    await locking.connect();
    onTestFinished(() => locking.end());
    await locking.query("begin; lock table pgboss.job in access exclusive mode");
    await world.work({ concurrency: 16 });
    // Each waits for 5 s.
    for (const id of ["b", "c", "d"]) expect((await world.send(id)).code).toBe("queue_unavailable");
    const { rows } = await locking.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'",
    );
    // The most connections of a pool of pg-boss.
    expect(rows[0]?.count).toBeLessThanOrEqual(10);
    await locking.query("commit");
    await untilAvailable(async () => {
      const { ready, active, delayed, dead } = await world.inbox.admin.stats();
      return ready + active + delayed + dead === 0;
    }, "all are done");
    expect(runs.filter((id) => id.startsWith("a"))).toHaveLength(20);
    expect(new Set(runs).size).toBe(runs.length);
  });

  test("an operator's statement that takes longer than a delivery waits keeps its connection", async () => {
    const world = await worldOf(server, () => {});
    const slow = world.boss.getDb().executeSql("select pg_sleep(8)");
    const locking = new Client({ connectionString: server.connectionString });
    await locking.connect();
    onTestFinished(() => locking.end());
    await locking.query("begin; lock table pgboss.job in access exclusive mode");
    expect((await world.send("a")).code).toBe("queue_unavailable");
    await locking.query("commit");
    await slow;
  });

  test("a connection that dies silently while its statement waits for a lock is replaced", async () => {
    const proxy = await tcpProxy(server.port);
    onTestFinished(() => proxy.close());
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    const runs: string[] = [];
    const world = await worldOf(
      { ...server, connectionString: server.connectionString.replace(/:\d+\//, `:${proxy.port}/`) },
      async (event) => {
        await isReleased;
        runs.push(idOf(event));
      },
      { receiver: { store: memoryStore() } },
    );
    await world.work({ concurrency: 1 });
    await world.send("a");
    await untilAvailable(async () => (await world.inbox.admin.stats()).active === 1, "it runs");
    const locking = new Client({ connectionString: server.connectionString });
    await locking.connect();
    onTestFinished(() => locking.end());
    await locking.query(
      "begin; select from pgboss.job where name = '" + world.queue + "' for update",
    );
    release();
    const waiting = async () => {
      const { rows } = await locking.query<{ count: number }>(
        "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'",
      );
      return rows[0]?.count ?? 0;
    };
    await until(async () => (await waiting()) > 0, "the end of the run waits");
    const count = await waiting();
    proxy.abandon();
    // A call that finds a dead connection makes the inbox look for others.
    await world.send("b");
    // The server still runs these when the inbox looks for dead connections.
    await until(() => proxy.abandoned() <= count, "the other connections are replaced");
    await until(async () => (await world.send("c")).code === "enqueued", "a delivery is stored");
    // No call fails any more that could make the inbox look again.
    await locking.query("select pg_sleep(15)");
    await locking.query("commit");
    await untilAvailable(async () => {
      const { ready, active, delayed } = await world.inbox.admin.stats();
      return ready + active + delayed === 0;
    }, "the job of the dead connection is done");
    expect(runs).toContain("a");
  });
});
