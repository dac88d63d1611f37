import { createReceiver, memoryStore, PermanentError, RetryError } from "@svc-webhooks/core";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { freePort } from "@svc-webhooks/kit/free-port";
import { gate } from "@svc-webhooks/kit/gate";
import { until } from "@svc-webhooks/kit/until";
import { fakeClock, fixture, signedDelivery } from "@svc-webhooks/testing";
import { Queue, Worker, type Job } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  bullmqInbox,
  queueConnection,
  type BullmqInbox,
  type BullmqInboxOptions,
} from "../src/index.js";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const silent = { info() {}, warn() {}, error() {} };

async function arrayOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

type On = NonNullable<Parameters<typeof createReceiver>[0]>["on"];

describeWithRedis("an inbox on BullMQ", () => {
  let server: RedisServer;
  let queues = 0;
  const open: { close(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    server = await redisServer(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
  });
  afterAll(() => server.close());
  afterEach(async () => {
    for (const one of open.splice(0).toReversed()) await one.close();
  });

  const quick = { firstMs: 20, mostMs: 20 };
  const connection = () => ({ port: server.port, host: "127.0.0.1", maxRetriesPerRequest: null });

  function connect(handler: On["*"], options: BullmqInboxOptions = { retry: quick }) {
    queues += 1;
    const name = `mail-${queues}`;
    const queue = new Queue(name, { connection: connection() });
    queue.on("error", () => {});
    open.push(queue);
    const inbox = bullmqInbox(queue, options);
    const receiver = createReceiver({
      secret,
      store: memoryStore(),
      logger: silent,
      on: { "*": inbox(handler ?? (() => {})) },
    });
    const work = (settings: object = {}) => {
      const worker = new Worker(name, inbox.processor(receiver), {
        connection: connection(),
        ...inbox.workerOptions,
        ...settings,
      });
      worker.on("error", () => {});
      open.push(worker);
      return worker;
    };
    const send = async (deliveryId = "dlv_1") =>
      receiver.receive(await signedDelivery(fixture("email.delivered"), { secret, deliveryId }));
    return { queue, inbox, receiver, work, send };
  }

  test("stores a delivery, and a worker runs its handler", async () => {
    const seen: unknown[] = [];
    const { inbox, work, send } = connect((event) => void seen.push(event));
    expect((await send()).code).toBe("enqueued");
    expect((await send()).code).toBe("enqueued");
    expect(await inbox.admin.stats()).toMatchObject({ ready: 1, active: 0, delayed: 0, dead: 0 });
    expect(seen).toEqual([]);
    work();
    await until(async () => (await inbox.admin.stats()).ready === 0, "the job has run");
    await until(() => seen.length === 1, "the handler has run");
    expect(seen).toMatchObject([{ type: "email.delivered" }]);
  });

  test("retries after the delay of a RetryError, and by its own schedule otherwise", async () => {
    const at: number[] = [];
    const { inbox, work, send } = connect(() => {
      at.push(performance.now());
      if (at.length === 1) throw new RetryError({ retryAfterMs: 300 });
      if (at.length === 2) throw new Error("again");
    });
    await send();
    work();
    await until(() => at.length === 3, "the handler has run three times");
    const [first = 0, second = 0] = at;
    expect(second - first).toBeGreaterThanOrEqual(299);
    expect((await inbox.admin.stats()).dead).toBe(0);
  });

  test("makes a dead letter of a PermanentError, and a copy of the delivery runs it again", async () => {
    let isBroken = true;
    let runs = 0;
    const { inbox, work, send } = connect(() => {
      runs += 1;
      if (isBroken) throw new PermanentError("no such account");
    });
    await send();
    work();
    const dead = async () => (await inbox.admin.stats()).dead;
    await until(async () => (await dead()) === 1, "the event is a dead letter");
    expect(runs).toBe(1);
    const letters = await arrayOf(inbox.admin.list({ state: "dead" }));
    expect(letters).toMatchObject([{ type: "email.delivered", deliveryId: "dlv_1", attempts: 1 }]);
    expect(letters[0]?.error).toContain("no such account");
    isBroken = false;
    expect((await send()).code).toBe("enqueued");
    await until(async () => (await dead()) === 0, "the dead letter has been taken");
    await until(() => runs === 2, "the handler has run again");
  });

  test("lists and discards a dead letter with any data", async () => {
    const discarded: unknown[] = [];
    const { queue, inbox, work } = connect(() => {}, {
      retry: quick,
      onDiscard: ({ id }, reason) => discarded.push([id, reason]),
    });
    const text = { toString: null };
    await queue.add("x", {
      v: 1,
      key: text,
      type: text,
      deliveryId: text,
      body: text,
      headers: {},
    });
    work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "the job is a dead letter");
    const [letter] = await arrayOf(inbox.admin.list({ state: "dead" }));
    expect(letter).toMatchObject({ key: "", type: "", deliveryId: "", state: "dead" });
    expect(letter?.body()).toHaveLength(0);
    expect(await inbox.admin.discard(letter?.id ?? "", "test")).toBe(true);
    expect(discarded).toEqual([[letter?.id, "test"]]);
  });

  test("a job that is done has no body, and is done for a worker that finds it again", async () => {
    let runs = 0;
    const { queue, inbox, receiver, work, send } = connect(() => void (runs += 1));
    await send();
    const results: unknown[] = [];
    work().on("completed", (_job, result) => results.push(result));
    await until(() => results.length > 0, "the job is done");
    const [job] = await queue.getCompleted();
    expect(job?.data).toEqual({ done: job?.id });
    // Its worker has died before BullMQ moved the job.
    expect(await inbox.processor(receiver)(job as Job)).toBe("duplicate");
    expect(runs).toBe(1);
  });

  test("a full Redis makes no dead letter of a job that is done", async () => {
    const own = await redisServer(["--save", ""]);
    onTestFinished(() => own.close());
    const queue = new Queue("full", { connection: { port: own.port, host: "127.0.0.1" } });
    queue.on("error", () => {});
    const redis = new Redis(own.port, { lazyConnect: true });
    onTestFinished(async () => {
      redis.disconnect();
      await queue.close();
    });
    const inbox = bullmqInbox(queue, { retry: { limit: 1 } });
    let runs = 0;
    const filled = gate();
    const receiver = createReceiver({
      secret,
      store: memoryStore(),
      logger: silent,
      on: {
        "*": inbox(async () => {
          runs += 1;
          await filled.opened;
        }),
      },
    });
    for (const deliveryId of ["dlv_1", "dlv_2", "dlv_3"])
      await receiver.receive(
        await signedDelivery(fixture("email.delivered"), { secret, deliveryId }),
      );
    const worker = new Worker("full", inbox.processor(receiver), {
      connection: { port: own.port, host: "127.0.0.1", maxRetriesPerRequest: null },
      concurrency: 3,
    });
    worker.on("error", () => {});
    onTestFinished(() => worker.close(true));
    await until(() => runs === 3, "all run");
    await redis.config("SET", "maxmemory", "1");
    await expect(redis.set("a", "b")).rejects.toThrow("OOM");
    filled.open();
    await until(async () => (await queue.getJobCounts("active")).active === 0, "all have ended");
    expect(await queue.getJobCounts("completed", "failed", "delayed")).toEqual({
      completed: 3,
      failed: 0,
      delayed: 0,
    });
  });

  test("a job keeps the stack of its last attempt only, and at most 2,000 characters of it", async () => {
    const { queue, inbox, work, send } = connect(
      () => {
        throw new Error("x".repeat(20_000));
      },
      { retry: { limit: 3, ...quick } },
    );
    await send();
    work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "it is dead");
    const [job] = await queue.getFailed();
    expect(job?.stacktrace?.map(({ length }) => length)).toEqual([2_000]);
    expect(job?.failedReason).toHaveLength(10_000);
  });

  test("the retry of another tool gives a dead letter one attempt", async () => {
    let runs = 0;
    const { queue, inbox, work, send } = connect(
      () => {
        runs += 1;
        throw new Error("down");
      },
      { retry: { limit: 2, ...quick } },
    );
    await send();
    work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "it is dead");
    const [job] = await queue.getFailed();
    await job?.retry();
    await until(() => runs === 3, "it runs again");
    await until(async () => (await inbox.admin.stats()).dead === 1, "it is dead again");
    expect(runs).toBe(3);
  });

  test("a handler that throws the error which limits a queue's rate spends its attempts", async () => {
    const { inbox, work, send } = connect(
      () => {
        throw Worker.RateLimitError();
      },
      { retry: { limit: 2, ...quick } },
    );
    await send();
    work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "it is dead");
    expect(await arrayOf(inbox.admin.list({ state: "dead" }))).toMatchObject([
      { attempts: 2, error: "A handler threw bullmq:rateLimitExceeded." },
    ]);
  });

  test("a release stops after failures of letters that have a priority", async () => {
    const { queue, inbox, work, send } = connect(
      () => {
        throw new PermanentError("down");
      },
      { retry: { limit: 1, ...quick } },
    );
    const ids = Array.from({ length: 12 }, (_, index) => `dlv_${index}`);
    for (const id of ids) await send(id);
    for (const job of await queue.getJobs("waiting")) await job.changePriority({ priority: 5 });
    work();
    await until(async () => (await inbox.admin.stats()).dead === 12, "all are dead");
    const { released, failedAgain } = await inbox.admin.release({ perSecond: 10, stopAfter: 2 });
    expect(failedAgain).toBeGreaterThanOrEqual(2);
    expect(released).toBeLessThan(12);
  });

  test("counts, lists and finds a job to which another application has given a priority", async () => {
    const { queue, inbox } = connect(() => {});
    const { id = "" } = await queue.add("x", { key: "a" }, { priority: 5 });
    expect(await inbox.admin.stats()).toMatchObject({ ready: 1 });
    expect(await arrayOf(inbox.admin.list({ state: "ready" }))).toMatchObject([{ id, key: "a" }]);
    expect(await inbox.admin.get(id)).toMatchObject({ state: "ready" });
  });

  test.each(["failed", undefined, "toString"])("refuses to list the state %s", async (state) => {
    const { inbox } = connect(() => {});
    await expect(arrayOf(inbox.admin.list({ state } as never))).rejects.toMatchObject({
      code: "invalid_option",
      option: "query.state",
    });
  });

  describe("a dead letter that is redelivered while it is discarded", () => {
    async function withLetter() {
      const world = connect(() => {
        throw new PermanentError("down");
      });
      await world.send();
      const worker = world.work();
      await until(async () => (await world.inbox.admin.stats()).dead === 1, "it is a dead letter");
      await worker.close();
      const [letter] = await arrayOf(world.inbox.admin.list({ state: "dead" }));
      return { ...world, id: letter?.id ?? "" };
    }

    test("is not discarded once it is to run again", async () => {
      const { queue, inbox, send, id } = await withLetter();
      const late = bullmqInbox(
        Object.create(queue, {
          getJobState: {
            async value(...args: Parameters<typeof queue.getJobState>) {
              const state = await queue.getJobState(...args);
              await send();
              return state;
            },
          },
        }) as Queue,
      );
      expect(await late.admin.discard(id, "test")).toBe(false);
      expect(await inbox.admin.stats()).toMatchObject({ ready: 1, dead: 0 });
    });

    test("is stored again once it is discarded", async () => {
      const { queue, inbox, id } = await withLetter();
      const late = bullmqInbox(
        Object.create(queue, {
          getJobState: {
            async value(...args: Parameters<typeof queue.getJobState>) {
              await inbox.admin.discard(id, "test");
              return queue.getJobState(...args);
            },
          },
        }) as Queue,
      );
      const receiver = createReceiver({ secret, logger: silent, on: { "*": late(() => {}) } });
      const delivery = { secret, deliveryId: "dlv_1" };
      const outcome = await receiver.receive(
        await signedDelivery(fixture("email.delivered"), delivery),
      );
      expect(outcome.code).toBe("enqueued");
      expect(await inbox.admin.stats()).toMatchObject({ ready: 1, dead: 0 });
    });
  });

  test("a released event that was done meanwhile does not run again", async () => {
    let isDown = true;
    let runs = 0;
    const { inbox, receiver, work, send } = connect(() => {
      if (isDown) throw new PermanentError("down");
      runs += 1;
    });
    await send();
    const results: unknown[] = [];
    work().on("completed", (_job, result) => results.push(result));
    await until(async () => (await inbox.admin.stats()).dead === 1, "it is a dead letter");
    isDown = false;
    const delivery = { secret, deliveryId: "dlv_1" };
    const stored = await signedDelivery(fixture("email.delivered"), delivery);
    expect((await receiver.resume(stored)).code).toBe("processed");
    expect(await inbox.admin.release({ perSecond: 10 })).toMatchObject({ released: 1 });
    await until(() => results.length > 0, "its job is settled");
    expect([results, runs]).toEqual([["duplicate"], 1]);
  });

  test("a release counts the jobs that wait for another attempt", async () => {
    let isDown = true;
    const { inbox, work, send } = connect(
      () => {
        if (isDown) throw new PermanentError("down");
        throw new Error("still down");
      },
      { retry: { firstMs: 60_000, mostMs: 60_000 } },
    );
    for (const id of ["dlv_1", "dlv_2", "dlv_3"]) await send(id);
    work();
    await until(async () => (await inbox.admin.stats()).dead === 3, "the events are dead letters");
    isDown = false;
    const { released, failedAgain } = await inbox.admin.release({ perSecond: 1, stopAfter: 1 });
    expect(released).toBeLessThan(3);
    expect(failedAgain).toBeGreaterThanOrEqual(1);
  });

  test("reports a Redis that may lose jobs", async () => {
    const sound = new Queue("sound", { connection: { ...connection(), ...queueConnection } });
    sound.on("error", () => {});
    open.push(sound);
    await sound.waitUntilReady();
    expect(await bullmqInbox(sound).check()).toEqual([]);
    const lossy = await redisServer(["--appendonly", "no", "--maxmemory-policy", "allkeys-lru"]);
    const queue = new Queue("lossy", { connection: { ...connection(), port: lossy.port } });
    queue.on("error", () => {});
    open.push(lossy, queue);
    expect(await bullmqInbox(queue).check()).toEqual([
      expect.stringMatching(/^appendonly is no, so acknowledged events are lost/),
      expect.stringMatching(/^maxmemory-policy is allkeys-lru/),
      expect.stringMatching(/^The connection of the queue has no socketTimeout/),
      expect.stringMatching(/^The connection of the queue has no reconnectOnError/),
    ]);
  });

  test.each<[string, (inbox: BullmqInbox) => Promise<unknown>]>([
    ["check", (inbox) => inbox.check()],
    ["stats", (inbox) => inbox.admin.stats()],
    ["list", (inbox) => arrayOf(inbox.admin.list({ state: "dead" }))],
    ["get", (inbox) => inbox.admin.get("a")],
    ["retry", (inbox) => inbox.admin.retry("a")],
    ["discard", (inbox) => inbox.admin.discard("a", "test")],
    ["release", (inbox) => inbox.admin.release({ perSecond: 1 })],
  ])("%s rejects after 10 s while Redis is unreachable", async (_name, call) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const port = await freePort();
    const redis = new Redis({ ...connection(), port });
    redis.on("error", () => {});
    onTestFinished(() => redis.disconnect());
    const queue = new Queue("unreachable", { connection: redis });
    queue.on("error", () => {});
    let error: unknown;
    const ended = call(bullmqInbox(queue)).catch((caught: unknown) => (error = caught));
    await vi.advanceTimersByTimeAsync(9_999);
    expect(error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(error).toMatchObject({
      code: "queue_unavailable",
      message: expect.stringContaining("did not respond within 10 s. Check that it runs"),
    });
  });

  /** A receiver on a queue whose calls do not settle. */
  function unresponsive() {
    const started = new Set<unknown>();
    const queue = {
      add(_name: string, job: unknown) {
        started.add(job);
        return new Promise<never>(() => {});
      },
      getJobState: () => new Promise<never>(() => {}),
    } as unknown as Queue;
    const clock = fakeClock();
    const receiver = createReceiver({
      secret,
      clock,
      logger: silent,
      on: { "*": bullmqInbox(queue)(() => {}) },
    });
    const send = async (index: number) =>
      receiver.receive(
        await signedDelivery(fixture("email.sent"), { secret, deliveryId: `dlv_${index}` }),
      );
    return { started, clock, send };
  }

  test("stores any number of jobs at the same time, and creates an AbortController for one of them at most", async () => {
    const { started, send } = unresponsive();
    let created = 0;
    const Original = AbortController;
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal(
      "AbortController",
      class extends Original {
        constructor() {
          super();
          created += 1;
        }
      },
    );
    for (let index = 0; index < 150; index += 1) void send(index);
    await until(() => started.size >= 150, "all jobs wait for Redis");
    expect(created).toBe(1);
  });

  test("keeps at most 100 jobs for a Redis that does not respond", async () => {
    const { started, clock, send } = unresponsive();
    const first = Array.from({ length: 100 }, (_, index) => send(index));
    await until(() => started.size === 100, "all jobs wait for Redis");
    await clock.advance(10_000);
    for (const one of await Promise.all(first)) expect(one.code).toBe("queue_unavailable");
    expect(await send(100)).toMatchObject({ code: "queue_unavailable", status: 503 });
    expect(started.size).toBe(100);
  });

  test("responds 503 while Redis is gone, and stores again once it is back", async () => {
    const other = await redisServer(["--appendonly", "yes"]);
    const failFast = { maxRetriesPerRequest: 1, enableOfflineQueue: false };
    const queue = new Queue("gone", {
      connection: { ...connection(), port: other.port, ...failFast },
    });
    queue.on("error", () => {});
    await queue.waitUntilReady();
    const inbox = bullmqInbox(queue);
    const receiver = createReceiver({ secret, logger: silent, on: { "*": inbox(() => {}) } });
    const send = async () =>
      receiver.receive(await signedDelivery(fixture("email.sent"), { secret, deliveryId: "d" }));
    await other.kill();
    expect(await send()).toMatchObject({ code: "queue_unavailable", status: 503 });
    open.push(await other.restart(), queue);
    await until(async () => (await send()).code === "enqueued", "the delivery is stored");
  });
});

describe("bullmqInbox", () => {
  const queue = { name: "q", backend: {}, add() {}, getJobState() {} } as unknown as Queue;

  test.each([
    [undefined, {}, "invalid_option"],
    [{}, {}, "invalid_option"],
    [queue, { retries: {} }, "unknown_option"],
    [queue, { retry: { limit: 0 } }, "invalid_option"],
    [queue, { retry: { firstMs: 1.5 } }, "invalid_option"],
    [queue, { retry: { firstMs: 10, mostMs: 5 } }, "invalid_option"],
    [queue, { retry: { most: 5 } }, "unknown_option"],
    [queue, { onDiscard: 1 }, "invalid_option"],
  ])("refuses %j with the options %j", (given, options, code) => {
    expect(() => bullmqInbox(given as never, options as never)).toThrow(
      expect.objectContaining({ code }) as Error,
    );
  });

  test("refuses a receiver without `resume`", () => {
    expect(() => bullmqInbox(queue).processor({} as never)).toThrow(
      expect.objectContaining({ code: "invalid_option" }) as Error,
    );
  });
});
