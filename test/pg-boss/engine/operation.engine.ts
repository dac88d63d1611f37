import { createReceiver, PermanentError } from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { sized } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bossOf } from "./boss.js";
import { idOf, listed, worldOf, type World } from "./world.js";

const parking = { receiver: { onParked: () => {} } };
const stats = ({ inbox }: World) => inbox.admin.stats();
const list = (
  { inbox }: World,
  state: "ready" | "delayed" | "active" | "dead",
  more: object = {},
) => listed(inbox.admin.list({ state, ...more }));

describeWithPostgres("the operation of a queue", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    // With the settings of a server that keeps what it commits.
    server = await postgresServer({});
  });
  afterAll(() => server?.close());

  /** A queue with dead letters of the events `a0`, `a1`, …, which run when `dead` is empty. */
  const dying = async (count: number) => {
    const runs: string[] = [];
    const dead = { is: true };
    const world = await worldOf(
      server,
      (event) => {
        runs.push(idOf(event));
        if (dead.is) throw new PermanentError(`${idOf(event)} is poison`);
      },
      parking,
    );
    for (let index = 0; index < count; index += 1) await world.send(`a${index}`);
    const worker = await world.work();
    await until(async () => (await stats(world)).dead === count, "all are dead");
    runs.length = 0;
    return { world, worker, runs, dead };
  };

  test("setup creates the queues once, and changes their settings", async () => {
    const world = await worldOf(server, () => {}, { setUp: false });
    expect(await world.inbox.check()).toEqual([
      `The queue "${world.queue}" does not exist. Call setup() of the inbox when you deploy.`,
      `The queue "${world.queue}.dead" does not exist. Call setup() of the inbox when you deploy.`,
    ]);
    expect(await world.inbox.setup()).toBe(true);
    expect(await world.inbox.setup()).toBe(false);
    const other = pgBossInbox(world.boss, {
      queue: world.queue,
      retry: { limit: 5 },
      maxRunMs: 10_000,
    });
    expect(await other.check()).toEqual([
      expect.stringContaining("`expireInSeconds` of the queue"),
      expect.stringMatching(/^`retryLimit` of the queue .*, as `retry.limit` requires/),
    ]);
    expect(await other.setup()).toBe(true);
    expect(await other.check()).toEqual([]);
    expect(await world.boss.getQueue(world.queue)).toMatchObject({
      // The attempts of pg-boss: ten more, which make the letter of an event whose last attempt was killed.
      retryLimit: 14,
      expireInSeconds: 70,
    });
  });

  test("a queue of the same name in another schema is not that of `boss`", async () => {
    const { queue } = await worldOf(server, () => {});
    const boss = bossOf(server.connectionString, { schema: "other" });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    const refused = { code: "invalid_option", option: "schema" };
    await expect(pgBossInbox(boss, { queue }).setup()).rejects.toMatchObject(refused);
    await expect(pgBossInbox(boss, { queue }).check()).rejects.toMatchObject(refused);
    const own = pgBossInbox(boss, { queue, schema: "other" });
    await own.setup();
    expect(await own.check()).toEqual([]);
  });

  test("a queue that does not exist does not look like an empty one", async () => {
    const { admin } = (await worldOf(server, () => {}, { setUp: false })).inbox;
    await expect(admin.stats()).rejects.toMatchObject({ code: "queue_missing" });
    await expect(admin.release({ perSecond: 1 })).rejects.toMatchObject({ code: "queue_missing" });
  });

  test("check names every condition that endangers jobs", async () => {
    const { world } = await dying(1);
    expect(await world.inbox.check()).toEqual([]);
    await world.query(
      "update pgboss.job set created_on = created_on - interval '25 hours' where name = $1",
      [`${world.queue}.dead`],
    );
    await world.query("alter database postgres set synchronous_commit = off");
    onTestFinished(async () => {
      await world.query("alter database postgres reset synchronous_commit");
    });
    const boss = bossOf(server.connectionString, { supervise: false, max: 2 });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    await boss.updateQueue(world.queue, { retentionSeconds: 1_209_600 });
    await boss.work(
      world.queue,
      { perJobResults: true, includeMetadata: true, batchSize: 1, pollingIntervalSeconds: 0.5 },
      async () => [],
    );
    await until(async () => {
      const { rows } = await boss
        .getDb()
        .executeSql(
          "select 1 from pgboss.instance where workers::text like '%' || $1 || '%' and pool_max = 2",
          [world.queue],
        );
      return rows.length > 0;
    }, "the process has recorded its worker");
    const found = await pgBossInbox(boss, { queue: world.queue, partitionBy: () => "a" }).check();
    expect(found).toEqual([
      expect.stringMatching(/was created without `partitionBy`/),
      expect.stringMatching(/^`retentionSeconds` of the queue .* must be 31536000/),
      expect.stringMatching(/^`synchronous_commit` of PostgreSQL is off/),
      expect.stringMatching(/^`max` of PgBoss is 2 in a process that needs 3 connections/),
      expect.stringMatching(/has dead letters that are older than a day/),
    ]);
    Object.assign(boss, { listenerCount: () => 0 });
    expect(await pgBossInbox(boss, { queue: world.queue }).check()).toContainEqual(
      expect.stringMatching(/^`boss` has no listener for "error"/),
    );
  });

  test("check reports that no process supervises the jobs", async () => {
    const { world } = await dying(0);
    const boss = bossOf(server.connectionString, { supervise: false });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    const inbox = pgBossInbox(boss, { queue: world.queue });
    expect(await inbox.check()).toEqual([]);
    await world.boss.stop({ graceful: false });
    expect(await inbox.check()).toEqual([
      expect.stringMatching(/^`supervise` is off in all processes/),
    ]);
  });

  test("a job that waits for 15 days is still there", async () => {
    const world = await worldOf(server, () => {});
    await world.send("a");
    const usual = `${world.queue}-usual`;
    await world.boss.createQueue(usual, {});
    await world.boss.send(usual, {}, { id: crypto.randomUUID() });
    await world.query(
      `update pgboss.job set created_on = created_on - interval '15 days',
        start_after = start_after - interval '15 days', keep_until = keep_until - interval '15 days'
        where name = any($1)`,
      [[world.queue, usual]],
    );
    for (const queue of [usual, world.queue]) {
      await world.query("update pgboss.queue set maintain_on = null");
      await world.boss.supervise(queue);
    }
    expect(
      await world.query("select name from pgboss.job where name = any($1)", [[world.queue, usual]]),
    ).toEqual([{ name: world.queue }]);
    expect((await stats(world)).oldestMs).toBeGreaterThan(15 * 86_400_000 - 1);
  });

  test("lists jobs of each state, oldest first, by type and in pages", async () => {
    const { world, worker } = await dying(3);
    await worker.stop({ deadlineMs: 10_000 });
    for (let index = 0; index < 250; index += 1) await world.send(`b${index}`);
    expect(await stats(world)).toMatchObject({ ready: 250, delayed: 0, active: 0, dead: 3 });
    const ready = await list(world, "ready");
    expect(ready.map(({ deliveryId }) => deliveryId)).toEqual(
      Array.from({ length: 250 }, (_, index) => `b${index}`),
    );
    const after = ready[120]?.id;
    const part = await list(world, "ready", { after, limit: 120 });
    expect(part.map(({ deliveryId }) => deliveryId)).toEqual(
      ready.slice(121, 241).map(({ deliveryId }) => deliveryId),
    );
    expect(await list(world, "dead", { type: "email.bounced" })).toEqual([]);
    expect(await list(world, "dead", { type: "email.sent" })).toHaveLength(3);
    await world.query(
      "update pgboss.job set start_after = now() + interval '1 hour' where name = $1 and data->>'deliveryId' = 'b7'",
      [world.queue],
    );
    expect(await list(world, "delayed")).toMatchObject([{ deliveryId: "b7", state: "delayed" }]);
    const [active] = await world.boss.fetch(world.queue);
    expect(await list(world, "active")).toMatchObject([{ id: active?.id, attempts: 0 }]);
  });

  test("shows one job with its exact body, and its error", async () => {
    const { world } = await dying(1);
    const [letter] = await list(world, "dead");
    const found = await world.inbox.admin.get(String(letter?.id));
    expect(found).toMatchObject({
      deliveryId: "a0",
      error: "a0 is poison",
      attempts: 1,
      state: "dead",
    });
    expect(Buffer.from(found?.body() ?? "").toString()).toBe('{"type":"email.sent","id":"a0"}');
    expect(await world.inbox.admin.get(crypto.randomUUID())).toBeUndefined();
    expect(await world.inbox.admin.get("' or true")).toBeUndefined();
    expect(await world.inbox.admin.retry("' or true")).toBe(false);
  });

  test("runs a dead letter again with all its attempts", async () => {
    let runs = 0;
    const world = await worldOf(
      server,
      () => {
        runs += 1;
        throw new Error("fails");
      },
      { retry: { limit: 2, firstMs: 1_000, mostMs: 1_000 } },
    );
    await world.send("a");
    await world.work();
    await until(async () => (await stats(world)).dead === 1, "it is dead");
    const [letter] = await list(world, "dead");
    expect(await world.inbox.admin.retry(String(letter?.id))).toBe(true);
    expect(await world.inbox.admin.retry(String(letter?.id))).toBe(false);
    await until(async () => runs === 4 && (await stats(world)).dead === 1, "it is dead again");
  });

  test("discards a dead letter, and gives the reason to `onDiscard`", async () => {
    const { world } = await dying(2);
    const discarded: unknown[] = [];
    const { admin } = pgBossInbox(world.boss, {
      queue: world.queue,
      onDiscard: ({ deliveryId }, reason) => discarded.push([deliveryId, reason]),
    });
    const [letter] = await list(world, "dead");
    expect(await admin.discard(String(letter?.id), "a test")).toBe(true);
    expect(await admin.discard(String(letter?.id), "a test")).toBe(false);
    expect(discarded).toEqual([[letter?.deliveryId, "a test"]]);
    expect((await list(world, "dead")).map(({ id }) => id)).not.toContain(letter?.id);
    expect(await stats(world)).toMatchObject({ dead: 1 });
  });

  test("shows and discards a letter whose data another application wrote", async () => {
    const { world } = await dying(1);
    await world.query(
      `update pgboss.job set data = '{"key":{"toString":null},"type":{"toString":null},"deliveryId":[{"toString":null}],"body":{"toString":null}}'
        where name = $1`,
      [`${world.queue}.dead`],
    );
    const discarded: unknown[] = [];
    const { admin } = pgBossInbox(world.boss, {
      queue: world.queue,
      onDiscard: ({ id }) => discarded.push(id),
    });
    const [letter] = await listed(admin.list({ state: "dead" }));
    expect(letter).toMatchObject({ key: "", type: "", deliveryId: "", state: "dead" });
    const id = String(letter?.id);
    expect((await admin.get(id))?.body()).toHaveLength(0);
    expect(await admin.discard(id, "hostile")).toBe(true);
    expect(discarded).toEqual([id]);
  });

  test("list refuses an `after` that is no id of pg-boss", async () => {
    const world = await worldOf(server, () => {});
    const listing = listed(world.inbox.admin.list({ state: "dead", after: "b7" }));
    await expect(listing).rejects.toMatchObject({ code: "invalid_option", option: "query.after" });
  });

  test("check does not report letters that another worker has completed", async () => {
    const { world } = await dying(1);
    await world.query(
      "update pgboss.job set created_on = created_on - interval '25 hours', state = 'completed' where name = $1",
      [`${world.queue}.dead`],
    );
    expect(await world.inbox.check()).toEqual([]);
  });

  test("releases dead letters at the given rate", async () => {
    const { world, dead, runs } = await dying(21);
    dead.is = false;
    const start = performance.now();
    expect(await world.inbox.admin.release({ perSecond: 10 })).toEqual({
      released: 21,
      failedAgain: 0,
    });
    const perSecond = 20_000 / (performance.now() - start);
    expect(perSecond).toBeLessThan(11);
    await until(() => runs.length === 21, "all have run");
    expect(await stats(world)).toMatchObject({ dead: 0 });
  });

  test("releases the dead letters behind a page of letters that come from no job", async () => {
    const { world, dead } = await dying(2);
    dead.is = false;
    for (let index = 0; index < 101; index += 1) {
      await world.boss.send(`${world.queue}.dead`, {}, { id: crypto.randomUUID() });
    }
    await world.query(
      "update pgboss.job set created_on = created_on - interval '1 hour' where name = $1 and source_id is null",
      [`${world.queue}.dead`],
    );
    expect(await world.inbox.admin.release({ perSecond: 100 })).toMatchObject({ released: 2 });
    expect(await stats(world)).toMatchObject({ dead: 101 });
  });

  test.each([{}, { partitionBy: idOf, afterDead: "hold" as const }])(
    "stops a release when its jobs wait for another attempt, with %j",
    async (order) => {
      let isPermanent = true;
      const world = await worldOf(
        server,
        () => {
          throw isPermanent ? new PermanentError("poison") : new Error("unavailable");
        },
        { ...parking, ...order, retry: { firstMs: 60_000 } },
      );
      for (let index = 0; index < 10; index += 1) await world.send(`a${index}`);
      await world.work();
      await until(async () => (await stats(world)).dead === 10, "all are dead");
      isPermanent = false;
      // An event that fails meanwhile, and was not released.
      await world.send("b");
      await until(async () => (await stats(world)).delayed === 1, "it waits");
      const { released, failedAgain } = await world.inbox.admin.release({
        perSecond: 2,
        stopAfter: 2,
      });
      expect(failedAgain).toBeGreaterThanOrEqual(2);
      expect(released).toBeLessThan(10);
      await until(async () => (await stats(world)).delayed === released + 1, "all wait");
      expect(await world.inbox.admin.release({ perSecond: 5, limit: 1 })).toMatchObject({
        released: 1,
      });
    },
  );

  test("a released event that was done meanwhile does not run again", async () => {
    const { world, dead, runs } = await dying(1);
    dead.is = false;
    const delivery = await signed(eventBody("email.sent", { id: "a0" }), {
      "x-svc-delivery-id": "a0",
    });
    expect((await world.receiver.resume(delivery)).code).toBe("processed");
    expect(await world.inbox.admin.release({ perSecond: 10 })).toMatchObject({ released: 1 });
    await until(async () => {
      const { ready, delayed, active, dead: left } = await stats(world);
      return ready + delayed + active + left === 0;
    }, "its job is settled");
    expect(runs).toEqual(["a0"]);
  });

  const kills = sized(10, 100);
  test.each([
    [kills + 1, { dead: 0, runs: 1 }],
    [kills, { dead: 1, runs: 0 }],
  ])(
    `of %i attempts, ${kills} workers that are killed in a job spend one each`,
    async (limit, expected) => {
      const runs: string[] = [];
      const world = await worldOf(server, (event) => void runs.push(idOf(event)), {
        retry: { limit },
      });
      await world.send("a");
      for (let kill = 0; kill < kills; kill += 1) {
        expect(await stats(world)).toMatchObject({ dead: 0 });
        await world.query("update pgboss.job set start_after = now() where name = $1", [
          world.queue,
        ]);
        expect(await world.boss.fetch(world.queue)).toHaveLength(1);
        await world.query(
          "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour' where name = $1",
          [world.queue],
        );
        await world.query(
          "update pgboss.queue set monitor_on = null, monitor_claim_on = null where name = $1",
          [world.queue],
        );
        await world.boss.supervise(world.queue);
        // The process supervises the queue by itself too, and may have been faster.
        await until(async () => (await stats(world)).active === 0, "pg-boss notices the kill");
      }
      await world.query("update pgboss.job set start_after = now() where name = $1", [world.queue]);
      await world.work();
      await until(async () => {
        const { dead } = await stats(world);
        return dead === expected.dead && runs.length === expected.runs;
      }, "the last attempt runs, or an attempt beyond it makes the letter");
    },
  );

  test("a server that starts before the database responds 503, and stores once it is up", async () => {
    const own = await postgresServer({});
    onTestFinished(() => own.close());
    const world = await worldOf(own, () => {});
    await own.crash();
    const boss = bossOf(own.connectionString);
    onTestFinished(() => boss.stop({ graceful: false }));
    const starting = boss.start({ attempts: 1_000 });
    const inbox = pgBossInbox(boss, { queue: world.queue });
    const receiver = createReceiver({ secret, log: () => {}, on: { "*": inbox(() => {}) } });
    const send = async () => receiver.receive(await signed());
    expect(await send()).toMatchObject({ code: "queue_unavailable", status: 503 });
    await own.restart();
    await starting;
    await until(async () => (await send()).code === "enqueued", "it is stored");
    expect(await stats(world)).toMatchObject({ ready: 1 });
  });

  test("stops a release at its limit, after deaths and when it is aborted", async () => {
    const { world, runs } = await dying(10);
    const release: typeof world.inbox.admin.release = (options) =>
      world.inbox.admin.release(options);
    expect(await release({ perSecond: 10, limit: 2 })).toMatchObject({ released: 2 });
    await until(
      async () => runs.length === 2 && (await stats(world)).dead === 10,
      "both died again",
    );
    const { released, failedAgain } = await release({ perSecond: 2, stopAfter: 2 });
    expect(failedAgain).toBeGreaterThanOrEqual(2);
    expect(released).toBeLessThan(10);
    const signal = AbortSignal.abort();
    expect(await release({ perSecond: 2, signal })).toEqual({ released: 0, failedAgain: 0 });
    await expect(release({ perSecond: 0 })).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("responds 503 while the database is unavailable, and continues without a restart", async () => {
    const own = await postgresServer({});
    onTestFinished(() => own.close());
    const runs: string[] = [];
    const world = await worldOf(own, (event) => void runs.push(idOf(event)));
    const worker = await world.work();
    await own.crash();
    expect(await world.send("a")).toMatchObject({ code: "queue_unavailable", status: 503 });
    const late = bossOf(own.connectionString);
    onTestFinished(() => late.stop({ graceful: false }));
    const working = pgBossInbox(late, { queue: world.queue }).work(world.receiver);
    await own.restart();
    await until(async () => (await world.send("a")).code === "enqueued", "it is accepted");
    await until(() => runs.length === 1, "it runs");
    await worker.stop({ deadlineMs: 10_000 });
    const second = await working;
    expect((await world.send("b")).code).toBe("enqueued");
    await until(() => runs.length === 2, "the worker that started without a database runs it");
    await second.stop({ deadlineMs: 10_000 });
  });
});
