import { createReceiver, PermanentError, RetryError } from "@svc-webhooks/core";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { freePort } from "@svc-webhooks/kit/free-port";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { untilAvailable } from "@svc-webhooks/kit/until-available";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bossOf, type TestBoss } from "./boss.js";
import { idOf, listed, worldOf } from "./world.js";

const unreadable = "The error cannot be read.";

describeWithPostgres("pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer({});
  });
  afterAll(() => server?.close());

  test("stores a delivery, and a worker runs it once", async () => {
    const runs: string[] = [];
    const world = await worldOf(server, (event) => void runs.push(idOf(event)));
    const outcomes = await Promise.all([world.send("a"), world.send("a"), world.send("b")]);
    expect(outcomes.map(({ code, status }) => [code, status])).toEqual(
      outcomes.map(() => ["enqueued", 200]),
    );
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 2, active: 0, dead: 0 });
    expect(runs).toEqual([]);
    await world.work();
    await until(() => runs.length === 2, "both events have run");
    expect((await world.send("a")).code).toBe("enqueued");
    await untilAvailable(
      async () => (await world.inbox.admin.stats()).active === 0,
      "all is settled",
    );
    expect(runs.toSorted()).toEqual(["a", "b"]);
    expect(await world.inbox.admin.stats()).toEqual({
      ready: 0,
      delayed: 0,
      active: 0,
      dead: 0,
      oldestMs: undefined,
    });
  });

  test("retries a handler that throws, and keeps its dead letter with the error", async () => {
    let runs = 0;
    const world = await worldOf(
      server,
      () => {
        runs += 1;
        throw new Error(`run ${runs}`);
      },
      { retry: { limit: 2 } },
    );
    await world.send("a");
    await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).dead === 1, "it is dead");
    expect(runs).toBe(2);
    const [letter] = await listed(world.inbox.admin.list({ state: "dead" }));
    expect(letter).toMatchObject({ deliveryId: "a", attempts: 2, error: "run 2", state: "dead" });
  });

  test("a PermanentError is a dead letter after one run, and a redelivery runs it again", async () => {
    let runs = 0;
    const world = await worldOf(
      server,
      () => {
        runs += 1;
        if (runs === 1) throw new PermanentError("no such account");
      },
      { receiver: { onParked: () => {} } },
    );
    await world.send("a");
    await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).dead === 1, "it is dead");
    const [letter] = await listed(world.inbox.admin.list({ state: "dead" }));
    expect(letter).toMatchObject({ attempts: 1, error: "no such account" });
    expect((await world.send("a")).code).toBe("enqueued");
    await until(() => runs === 2, "it runs again");
    await untilAvailable(
      async () => (await world.inbox.admin.stats()).dead === 0,
      "its letter is removed",
    );
  });

  test("a RetryError delays the next run", async () => {
    const at: number[] = [];
    const world = await worldOf(server, () => {
      at.push(Date.now());
      if (at.length === 1) throw new RetryError({ retryAfterMs: 4_000 });
    });
    await world.send("a");
    await world.work();
    await until(() => at.length === 2, "it runs again");
    expect(Number(at[1]) - Number(at[0])).toBeGreaterThan(3_500);
    expect(await world.inbox.admin.stats()).toMatchObject({ dead: 0 });
  });

  test("gives back the exact bytes", async () => {
    const bodies: string[] = [];
    const bom = "\ufeff";
    const parts = [
      `"emoji":"\u{1f600}\u2028"`,
      `"nul":"\\u0000"`,
      `"half":"\\ud800"`,
      `"a":1,"a":2`,
      `"number":12345678901234567890.10`,
      `"large":"${"x".repeat(1_000_000)}"`,
    ];
    const world = await worldOf(
      server,
      async (_event, { delivery }) => {
        bodies.push(Buffer.from(delivery.body).toString("hex"));
      },
      { receiver: { maxBodyBytes: 2_000_000 } },
    );
    const sent = parts
      .map((part) => `{"type":"email.sent",${part}}`)
      .flatMap((body) => [body, `${bom}${body}\n`]);
    for (const [index, body] of sent.entries()) {
      const outcome = await world.receiver.receive(
        await signed(body, { "x-svc-delivery-id": `dlv_${index}` }),
      );
      expect(outcome.code).toBe("enqueued");
    }
    await world.work();
    await until(() => bodies.length === sent.length, "all have run");
    expect(bodies.toSorted()).toEqual(
      sent.map((body) => Buffer.from(body).toString("hex")).toSorted(),
    );
  });

  test("data that another application changed is a dead letter, and the worker continues", async () => {
    const runs: string[] = [];
    const world = await worldOf(server, (event) => void runs.push(idOf(event)));
    await world.send("a");
    await world.send("b");
    await world.query(
      `update pgboss.job set data = jsonb_set(data, '{key}', '"${"0".repeat(32)}"') where name = $1 and data->>'deliveryId' = 'a'`,
      [world.queue],
    );
    await world.boss.send(world.queue, { foreign: true }, { id: crypto.randomUUID() });
    await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).dead === 2, "both are dead");
    await until(() => runs.length === 1, "the other has run");
    const letters = await listed(world.inbox.admin.list({ state: "dead" }));
    expect(letters.map(({ error }) => error)).toContainEqual(
      expect.stringContaining("This is not the unchanged data"),
    );
    expect(runs).toEqual(["b"]);
  });

  test("an error with a NUL and half a character is stored", async () => {
    const world = await worldOf(
      server,
      () => {
        throw new PermanentError("a\0b\ud800");
      },
      { receiver: { onParked: () => {} } },
    );
    await world.send("a");
    await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).dead === 1, "it is dead");
    const [letter] = await listed(world.inbox.admin.list({ state: "dead" }));
    expect(letter?.error).toBe("a\ufffdb\ufffd");
  });

  test("a run that waits for a lease spends no attempt", async () => {
    const world = await worldOf(server, () => {});
    await world.send("a");
    const [{ key }] = (await world.query(
      "select data->>'key' as key from pgboss.job where name = $1",
      [world.queue],
    )) as [{ key: string }];
    const claim = { token: "other", leaseMs: 3_000, retainMs: 60_000 };
    await world.store.claim(key, claim, { signal: new AbortController().signal });
    await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).active === 1, "it waits");
    await untilAvailable(async () => (await world.inbox.admin.stats()).active === 0, "it is done");
    const [row] = await world.query("select state, retry_count from pgboss.job where name = $1", [
      world.queue,
    ]);
    expect(row).toEqual({ state: "completed", retry_count: 0 });
  });

  test("a worker that stops awaits its runs, and they spend no attempt", async () => {
    let release: (() => void) | undefined;
    const world = await worldOf(server, () => new Promise<void>((resolve) => (release = resolve)));
    await world.send("a");
    const worker = await world.work();
    await until(() => release !== undefined, "it runs");
    const stopped = worker.stop({ deadlineMs: 60_000 });
    release?.();
    await stopped;
    const [row] = await world.query("select state, retry_count from pgboss.job where name = $1", [
      world.queue,
    ]);
    expect(row).toEqual({ state: "completed", retry_count: 0 });
  });

  test("a worker stops while the database is down, and the cause is an error of `boss`", async () => {
    const own = await postgresServer({});
    onTestFinished(() => own.close());
    let isRunning = false;
    const world = await worldOf(own, () => {
      isRunning = true;
      return new Promise<void>(() => {});
    });
    await world.send("a");
    const worker = await world.work();
    await until(() => isRunning, "it runs");
    await own.crash();
    const emitted: unknown[] = [];
    world.boss.on("error", (error) => emitted.push(error));
    await worker.stop({ deadlineMs: 0 });
    expect(emitted).not.toEqual([]);
    await own.restart();
  });

  test("a run that outlives the deadline of stop is given back", async () => {
    let runs = 0;
    const world = await worldOf(
      server,
      () => {
        runs += 1;
        return runs === 1 ? new Promise<void>(() => {}) : undefined;
      },
      { receiver: { leaseMs: 10_000, maxRunMs: 10_000 } },
    );
    await world.send("a");
    const worker = await world.work();
    await until(() => runs === 1, "it runs");
    await worker.stop({ deadlineMs: 50 });
    const [row] = await world.query(
      "select state, retry_count, output->>'message' as error from pgboss.job where name = $1",
      [world.queue],
    );
    expect(row).toEqual({
      state: "retry",
      retry_count: 0,
      error: "The worker stopped before this run ended.",
    });
    await world.work();
    await until(() => runs === 2, "another worker runs it");
  });

  test.each([
    undefined,
    {},
    { deadlineMs: Infinity },
    { deadlineMs: -1 },
    { deadlineMs: 2_147_483_648 },
    { deadlineMs: "5" },
  ])("refuses stop(%j), and continues", async (options) => {
    const runs: string[] = [];
    const world = await worldOf(server, (event) => void runs.push(idOf(event)));
    const worker = await world.work();
    await expect(worker.stop(options as never)).rejects.toMatchObject({ code: "invalid_option" });
    await world.send("a");
    await until(() => runs.length === 1, "it runs");
  });

  test.each<[string, () => unknown, string]>([
    ["an object without a prototype", () => Object.create(null) as unknown, unreadable],
    [
      "a proxy that throws",
      () =>
        new Proxy(
          {},
          {
            get() {
              throw new Error("trap");
            },
          },
        ),
      unreadable,
    ],
    ["60 MB", () => new PermanentError("x".repeat(60_000_000)), "x".repeat(10_000)],
  ])("settles a job whose handler throws %s", async (_title, make, error) => {
    const world = await worldOf(
      server,
      () => {
        throw make();
      },
      { retry: { limit: 1 }, receiver: { onParked: () => {} } },
    );
    await world.send("a");
    const worker = await world.work();
    await untilAvailable(async () => (await world.inbox.admin.stats()).dead === 1, "it is dead");
    const [letter] = await listed(world.inbox.admin.list({ state: "dead" }));
    expect(letter?.error).toBe(error);
    // A run that has ended is not given back.
    const fail = vi.spyOn(world.boss, "fail");
    await worker.stop({ deadlineMs: 1_000 });
    expect(fail).not.toHaveBeenCalled();
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 0, delayed: 0, dead: 1 });
  });

  test("stores nothing in a queue that setup did not create, and stores it after setup", async () => {
    const world = await worldOf(server, () => {}, { setUp: false });
    await world.boss.createQueue(world.queue, {});
    const problems: string[] = [];
    const receiver = createReceiver({
      secret,
      log: (line) => void problems.push(line),
      on: { "*": world.inbox(() => {}) },
    });
    const send = async () => receiver.receive(await signed());
    expect((await send()).code).toBe("queue_unavailable");
    expect((await world.send("a")).status).toBe(503);
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 0 });
    await world.inbox.setup();
    expect((await world.send("a")).code).toBe("enqueued");
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 1 });
    expect((await send()).code).toBe("enqueued");
    const other = pgBossInbox(world.boss, { queue: world.queue, partitionBy: () => "a" });
    const ordered = createReceiver({
      secret,
      log: (line) => void problems.push(line),
      on: { "*": other(() => {}) },
    });
    expect((await ordered.receive(await signed())).code).toBe("queue_unavailable");
    expect(problems).toContainEqual(
      expect.stringMatching(/`deadLetter` of the queue .* setup\(\)/),
    );
    expect(problems).toContainEqual(expect.stringMatching(/created without `partitionBy`/));
  });

  test.each(["wrong", "public"])("refuses the schema %s of another application", async (schema) => {
    const world = await worldOf(server, () => {});
    const inbox = pgBossInbox(world.boss, { queue: world.queue, schema });
    const refused = { code: "invalid_option", option: "schema" };
    await expect(inbox.check()).rejects.toMatchObject(refused);
    await expect(inbox.setup()).rejects.toMatchObject(refused);
    await expect(inbox.work(world.receiver)).rejects.toMatchObject(refused);
  });

  test.each<[string, string]>([
    ["a database", "no_such_database"],
    ["a role", "no_such_role"],
  ])("work rejects for %s that does not exist", async (_title, name) => {
    const world = await worldOf(server, () => {});
    const url = new URL(server.connectionString);
    if (name.endsWith("role")) url.username = name;
    else url.pathname = name;
    const boss = bossOf(url.href);
    const inbox = pgBossInbox(boss, { queue: world.queue });
    await expect(inbox.work(world.receiver)).rejects.toMatchObject({
      message: expect.stringContaining(name) as unknown,
    });
  });

  test("work emits the cause while it cannot connect, once a minute", async () => {
    const world = await worldOf(server, () => {});
    const url = new URL(server.connectionString);
    url.port = String(await freePort());
    const boss = bossOf(url.href);
    const causes: string[] = [];
    boss.on("error", ({ message }) => causes.push(message));
    const tries = vi.spyOn(boss, "start");
    const working = pgBossInbox(boss, { queue: world.queue }).work(world.receiver);
    const ended = working.catch((error: unknown) => error);
    await until(() => tries.mock.calls.length > 2, "it tries again");
    expect(causes).toEqual([expect.stringMatching(/retries\. Cause: .*ECONNREFUSED/)]);
    await boss.stop({ graceful: false });
    expect(await ended).toMatchObject({ code: "ECONNREFUSED" });
  });

  test.each([1, 2, 5])("runs at most %i jobs at a time", async (concurrency) => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const world = await worldOf(server, async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running -= 1;
      runs += 1;
    });
    for (let index = 0; index < 20; index += 1) await world.send(String(index));
    await world.work({ concurrency });
    await until(() => runs === 20, "all have run");
    expect(most).toBeLessThanOrEqual(concurrency);
  });

  test("work rejects without a queue, with another policy and without a listener", async () => {
    const world = await worldOf(server, () => {}, { setUp: false });
    await expect(world.inbox.work(world.receiver)).rejects.toMatchObject({ code: "queue_missing" });
    expect((await world.send("a")).code).toBe("queue_unavailable");
    await world.inbox.setup();
    await world.boss.createQueue(`${world.queue}-other`, {});
    const other = pgBossInbox(world.boss, { queue: `${world.queue}-other` });
    await expect(other.work(world.receiver)).rejects.toMatchObject({ code: "queue_settings" });
    const ordered = pgBossInbox(world.boss, { queue: world.queue, partitionBy: () => "a" });
    await expect(ordered.work(world.receiver)).rejects.toMatchObject({ code: "queue_policy" });
    await expect(ordered.setup()).rejects.toMatchObject({ code: "queue_policy" });
    const silent = Object.create(world.boss, { listenerCount: { value: () => 0 } }) as TestBoss;
    const inbox = pgBossInbox(silent, { queue: world.queue });
    await expect(inbox.work(world.receiver)).rejects.toMatchObject({
      code: "invalid_option",
      option: "boss",
    });
  });
});
