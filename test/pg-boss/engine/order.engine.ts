import { PermanentError } from "@svc-webhooks/core";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { sized } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { untilAvailable } from "@svc-webhooks/kit/until-available";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { idOf, listed, worldOf, type World } from "./world.js";

/** The key of an event: the letter of `a1`. */
const partitionBy = (event: unknown): string => idOf(event).charAt(0);

/** Counts down the failures of each event, whose handler throws until there is none left. */
const failures = (counts: Readonly<Record<string, number>>) => {
  const left: Record<string, number> = { ...counts };
  return (id: string): void => {
    const count = left[id] ?? 0;
    if (count > 0) {
      left[id] = count - 1;
      throw new Error(`${id} fails`);
    }
  };
};

const stats = ({ inbox }: World) => inbox.admin.stats();
const letters = ({ inbox }: World) => listed(inbox.admin.list({ state: "dead" }));

describeWithPostgres("a queue in order", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server?.close());

  const ids = Array.from({ length: 10 }, (_, index) => [`a${index}`, `b${index}`]).flat();
  const inOrder = (letter: string) => ids.filter((id) => id.startsWith(letter));

  test.each([
    {
      title: "keeps the order of each key while runs fail",
      options: { partitionBy },
      isOrdered: true,
    },
    {
      title: "is one of `partitionBy`: without it, a retry is overtaken",
      options: {},
      isOrdered: false,
    },
  ])("$title", async ({ options, isOrdered }) => {
    const done: string[] = [];
    const fail = failures({ a0: 1, a5: 1, b3: 2 });
    const world = await worldOf(
      server,
      (event) => {
        fail(idOf(event));
        done.push(idOf(event));
      },
      options,
    );
    for (const id of ids) await world.send(id);
    await Promise.all([world.work(), world.work()]);
    await until(() => done.length === ids.length, "all have run");
    const ofKey = ["a", "b"].map((letter) => done.filter((id) => id.startsWith(letter)));
    if (isOrdered) expect(ofKey).toEqual([inOrder("a"), inOrder("b")]);
    else expect(ofKey).not.toEqual([inOrder("a"), inOrder("b")]);
  });

  test("refuses a key that is not one, and takes an event without a key", async () => {
    const world = await worldOf(server, () => {}, {
      partitionBy: (event) => (event as { readonly of?: string }).of,
    });
    for (const of of [5, "", "x".repeat(501)]) {
      expect(await world.send("a", { of })).toMatchObject({
        code: "queue_unavailable",
        status: 503,
      });
    }
    expect(await stats(world)).toMatchObject({ ready: 0 });
    expect((await world.send("a")).code).toBe("enqueued");
    expect((await world.send("b", { of: "x".repeat(500) })).code).toBe("enqueued");
    expect(await stats(world)).toMatchObject({ ready: 2, heldKeys: 0 });
  });

  test("continues after a dead letter, and other keys never stop", async () => {
    const done: string[] = [];
    const dead = new Set(["a1", "a4", "a7"]);
    const world = await worldOf(
      server,
      (event) => {
        if (dead.has(idOf(event))) throw new PermanentError(`${idOf(event)} is poison`);
        done.push(idOf(event));
      },
      { partitionBy, receiver: { onParked: () => {} } },
    );
    for (const id of ids) await world.send(id);
    await world.work();
    await until(() => done.length === ids.length - dead.size, "all others have run");
    expect(done.filter((id) => id.startsWith("a"))).toEqual(
      inOrder("a").filter((id) => !dead.has(id)),
    );
    await until(async () => (await stats(world)).heldKeys === 0, "no key is held");
    expect((await letters(world)).map(({ error }) => error)).toEqual([
      "a1 is poison",
      "a4 is poison",
      "a7 is poison",
    ]);
    dead.clear();
    expect(await world.inbox.admin.release({ perSecond: 10 })).toMatchObject({ released: 3 });
    await until(() => done.length === ids.length, "the letters have run");
    expect(await stats(world)).toMatchObject({ dead: 0, ready: 0 });
  });

  const holding = async () => {
    const done: string[] = [];
    const dead = new Set(["a1"]);
    const world = await worldOf(
      server,
      (event) => {
        if (dead.has(idOf(event))) throw new PermanentError(`${idOf(event)} is poison`);
        done.push(idOf(event));
      },
      { partitionBy, afterDead: "hold", receiver: { onParked: () => {} } },
    );
    for (const id of ids) await world.send(id);
    const worker = await world.work();
    await until(() => done.length === 11, "the other key has run");
    await until(async () => (await stats(world)).heldKeys === 1, "the key is held");
    expect(done.filter((id) => id.startsWith("a"))).toEqual(["a0"]);
    const [letter] = await letters(world);
    return { world, worker, done, dead, id: String(letter?.id) };
  };

  test("holds keys of jobs that were stored before it was switched on", async () => {
    const done: string[] = [];
    const world = await worldOf(
      server,
      (event) => {
        if (idOf(event) === "a0") throw new PermanentError("a0 is poison");
        done.push(idOf(event));
      },
      { partitionBy, receiver: { onParked: () => {} } },
    );
    for (const id of ["a0", "a1", "b0"]) await world.send(id);
    const { boss, queue, receiver } = world;
    const holder = pgBossInbox(boss, { queue, partitionBy, afterDead: "hold" });
    expect(await holder.check()).toContainEqual(
      expect.stringContaining(`Settings of 3 jobs in the queue "${queue}" differ`),
    );
    expect(await holder.setup()).toBe(true);
    expect(await holder.check()).not.toContainEqual(expect.stringContaining("other settings"));
    await expect(world.work()).rejects.toMatchObject({ code: "queue_settings" });
    const worker = await holder.work(receiver);
    onTestFinished(() => worker.stop({ deadlineMs: 0 }));
    await untilAvailable(
      async () => (await holder.admin.stats()).heldKeys === 1,
      "the key is held",
    );
    // An hour later, pg-boss would have deleted the job of a queue that continues.
    await world.query(
      "update pgboss.job set completed_on = completed_on - interval '2 hours' where name = $1",
      [queue],
    );
    await boss.supervise(queue);
    await until(() => done.length === 1, "the other key has run");
    expect(done).toEqual(["b0"]);
    expect(await holder.admin.stats()).toMatchObject({ heldKeys: 1, dead: 1 });
  });

  test("hands out a job of other keys in each fetch while it holds a key", async () => {
    const { world, worker } = await holding();
    await worker.stop({ deadlineMs: 10_000 });
    const others = Array.from(
      { length: sized(30, 100) },
      (_, index) => `${"bcdef".charAt(index % 5)}1${index}`,
    );
    for (const id of others) await world.send(id);
    const fetched: string[] = [];
    for (const _ of others) {
      for (const { id, data } of await world.boss.fetch(world.queue)) {
        fetched.push((data as { readonly deliveryId: string }).deliveryId);
        await world.boss.complete(world.queue, id);
      }
    }
    expect(fetched.toSorted()).toEqual(others.toSorted());
    // The later events of the key wait.
    const waiting = await world.query(
      "select 1 from pgboss.job where name = $1 and state = 'created'",
      [world.queue],
    );
    expect(waiting).toHaveLength(8);
  });

  test("holds a key until its dead letter is retried, in its place", async () => {
    const { world, done, dead, id } = await holding();
    // pg-boss removes failed jobs after `deleteAfterSeconds`, and would open the key.
    await world.query(
      "update pgboss.job set completed_on = completed_on - interval '2 days' where name = $1",
      [world.queue],
    );
    await world.query("update pgboss.queue set maintain_on = null");
    await world.boss.supervise(world.queue);
    expect(await stats(world)).toMatchObject({
      heldKeys: 1,
      dead: 1,
      ready: 0,
      oldestMs: undefined,
    });
    dead.clear();
    expect(await world.inbox.admin.retry(id)).toBe(true);
    await until(() => done.length === ids.length, "the key has run");
    expect(done.filter((one) => one.startsWith("a"))).toEqual(inOrder("a"));
    await until(async () => (await stats(world)).active === 0, "all is settled");
    expect(await stats(world)).toMatchObject({ heldKeys: 0, dead: 0 });
    // Nothing else removes the jobs of this queue.
    expect(await world.query("select id from pgboss.job where name = $1", [world.queue])).toEqual(
      [],
    );
    expect(await world.inbox.admin.retry(id)).toBe(false);
  });

  test("opens a key whose dead letter is discarded or delivered again", async () => {
    const discarded = await holding();
    expect(await discarded.world.inbox.admin.discard(discarded.id, "spam")).toBe(true);
    expect(await discarded.world.inbox.admin.discard(discarded.id, "spam")).toBe(false);
    await until(() => discarded.done.length === ids.length - 1, "the others have run");

    const { world, done, dead } = await holding();
    dead.clear();
    expect((await world.send("a1")).code).toBe("enqueued");
    await until(() => done.length === ids.length, "the key has run");
    expect(done.filter((id) => id.startsWith("a"))).toEqual(inOrder("a"));
    await until(async () => (await stats(world)).dead === 0, "its letter is removed");
  });

  test("loses no redelivery that races with the discard of its letter", async () => {
    const done: string[] = [];
    const dead = { is: true };
    const world = await worldOf(
      server,
      (event) => {
        if (dead.is) throw new PermanentError("poison");
        done.push(idOf(event));
      },
      { partitionBy: idOf, afterDead: "hold", receiver: { onParked: () => {} } },
    );
    const sent = Array.from({ length: sized(20, 60) }, (_, index) => `a${index}`);
    for (const id of sent) await world.send(id);
    const worker = await world.work();
    await until(async () => (await stats(world)).heldKeys === sent.length, "all are dead");
    await worker.stop({ deadlineMs: 10_000 });
    dead.is = false;
    for (const { id, deliveryId } of await letters(world)) {
      const [outcome] = await Promise.all([
        world.send(deliveryId),
        world.inbox.admin.discard(id, "a race"),
      ]);
      expect(outcome.code).toBe("enqueued");
    }
    await world.work();
    await until(async () => {
      const { ready, delayed, active } = await stats(world);
      return ready + delayed + active === 0;
    }, "nothing is left to run");
    expect(done.toSorted()).toEqual(sent.toSorted());
  });

  test("loses no redelivery that revives a job while its key is opened", async () => {
    const done: string[] = [];
    const world = await worldOf(server, (event) => void done.push(idOf(event)), { partitionBy });
    await world.send("a0");
    const [job] = await world.boss.fetch(world.queue);
    await world.query("update pgboss.job set retry_limit = 0 where id = $1", [job?.id]);
    await world.boss.fail(world.queue, [{ id: String(job?.id), retryCount: 0 }], {});
    const redelivery = new Client({ connectionString: server.connectionString });
    await redelivery.connect();
    onTestFinished(() => redelivery.end());
    await redelivery.query("begin");
    const { rowCount } = await redelivery.query(
      "update pgboss.job set state = 'retry', retry_limit = 20 where id = $1 and state = 'failed'",
      [job?.id],
    );
    expect(rowCount).toBe(1);
    const working = world.work();
    await until(async () => {
      const waiting = await world.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%delete%'",
      );
      return waiting.length > 0;
    }, "the worker opens the key");
    await redelivery.query("commit");
    await working;
    await until(async () => {
      const { ready, delayed, active } = await stats(world);
      return ready + delayed + active === 0;
    }, "nothing is left to run");
    expect(done).toEqual(["a0"]);
  });

  test("continues after a crash in the last attempt", async () => {
    const done: string[] = [];
    const world = await worldOf(server, (event) => void done.push(idOf(event)), {
      partitionBy,
      retry: { limit: 1 },
    });
    await world.send("a0");
    await world.send("a1");
    // A worker takes the job, and is killed.
    expect(await world.boss.fetch(world.queue)).toHaveLength(1);
    await world.query(
      "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour' where name = $1",
      [world.queue],
    );
    await until(
      async () => (await stats(world)).active === 0,
      "pg-boss takes the job from the worker",
    );
    await world.work();
    await until(() => done.length === 1, "the next event has run");
    expect(done).toEqual(["a1"]);
    expect((await stats(world)).dead).toBe(1);
  });

  test("a running worker continues after a crash in the last attempt", async () => {
    const done: string[] = [];
    const world = await worldOf(server, (event) => void done.push(idOf(event)), {
      partitionBy,
      retry: { limit: 1 },
    });
    await world.send("a0");
    await world.send("a1");
    expect(await world.boss.fetch(world.queue)).toHaveLength(1);
    await world.work();
    await world.query(
      "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour' where name = $1 and state = 'active'",
      [world.queue],
    );
    // pg-boss fails the job in its next pass, and the worker opens the key in its own, which is every 30 s.
    await until(() => done.length === 1, "the next event has run");
    expect(done).toEqual(["a1"]);
    expect(await stats(world)).toMatchObject({ dead: 1, ready: 0 });
  });
});
