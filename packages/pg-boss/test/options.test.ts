import { createReceiver } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { signed } from "@svc-webhooks/kit/deliveries";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { pgBossInbox, type PgBossInboxOptions, type PgBossLike } from "@svc-webhooks/pg-boss";

// The engine needs a newer Node: `test/pg-boss` runs it. These tests record what it is given.

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Returns a `boss` that records its calls, and resolves them to these values. */
function recording(results: Readonly<Record<string, unknown>> = {}) {
  const calls: Call[] = [];
  const boss = new Proxy({} as PgBossLike, {
    get:
      (_target, name) =>
      (...args: unknown[]) => {
        calls.push({ name: String(name), args });
        const result = results[String(name)];
        return typeof result === "function" ? (result as () => unknown)() : Promise.resolve(result);
      },
  });
  return { boss, calls };
}

/** The settings of a queue as `setup` creates it. */
const settings = { policy: "standard", deadLetter: "mail.dead" };
const createdOn = new Date(0);
/** The rows of a query that finds the queue. */
const exists = [{ created_on: createdOn }];
/** Returns `getDb`, whose statements return these rows, one after the other. */
const databaseOf = (rows: unknown[][]) => () => ({
  executeSql: () => Promise.resolve({ rows: rows.shift() ?? [] }),
});

const key = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/) as unknown;

/** Receives a delivery whose handler runs from a queue. Returns its outcome and the calls of pg-boss. */
async function enqueued(options: PgBossInboxOptions, results: Readonly<Record<string, unknown>>) {
  const { queue = "webhooks", partitionBy } = options;
  const policy = partitionBy ? "key_strict_fifo" : "standard";
  const { boss, calls } = recording({
    getQueue: { policy, deadLetter: `${queue}.dead`, createdOn },
    getDb: databaseOf([exists]),
    ...results,
  });
  const receiver = createReceiver({
    secret: "whsec_test",
    log: () => {},
    on: { "*": pgBossInbox(boss, options)(() => {}) },
  });
  return { outcome: await receiver.receive(await signed()), calls };
}

describe("a delivery", () => {
  test("is sent to the queue with its key as the id", async () => {
    const { outcome, calls } = await enqueued({ queue: "mail" }, { send: "id" });
    expect(outcome.code).toBe("enqueued");
    const job = expect.objectContaining({
      v: 1,
      type: "email.sent",
      deliveryId: "dlv_1",
    }) as unknown;
    expect(calls.at(-1)).toEqual({ name: "send", args: ["mail", job, { id: key }] });
  });

  test("changes nothing if the queue has its job, and the job is not dead", async () => {
    const { outcome, calls } = await enqueued(
      { queue: "mail" },
      { send: null, getDb: databaseOf([exists, []]), findJobs: [{ state: "active" }] },
    );
    expect(outcome.code).toBe("enqueued");
    const [sent, , found, ...more] = calls.slice(calls.findIndex(({ name }) => name === "send"));
    expect(found).toEqual({ name: "findJobs", args: ["mail", sent?.args[2]] });
    expect(more).toEqual([]);
  });

  test("is sent again if its job has been removed meanwhile", async () => {
    const results: unknown[] = [null, null, "id"];
    const { outcome, calls } = await enqueued(
      { queue: "mail" },
      {
        send: () => Promise.resolve(results.shift()),
        getDb: databaseOf([exists, [], []]),
        findJobs: [],
      },
    );
    expect(outcome.code).toBe("enqueued");
    expect(calls.filter(({ name }) => name === "send")).toHaveLength(3);
  });

  test.each([[[]], [[{ state: "failed" }]]])(
    "is not accepted if its job is never there: %j",
    async (findJobs) => {
      const getDb = databaseOf([exists, [], [], [], [], []]);
      const { outcome, calls } = await enqueued({ queue: "mail" }, { send: null, getDb, findJobs });
      expect(outcome).toMatchObject({ code: "queue_unavailable", status: 503 });
      expect(calls.filter(({ name }) => name === "send")).toHaveLength(5);
    },
  );

  test("makes a receiver verify the queue once, and again after a failure", async () => {
    const sound = { ...settings, createdOn };
    const queues: unknown[] = [null, { ...sound, deadLetter: null }, sound, sound];
    const { boss, calls } = recording({
      send: "id",
      getQueue: () => Promise.resolve(queues.shift()),
      getDb: databaseOf([exists]),
    });
    const receiver = createReceiver({
      secret: "whsec_test",
      log: () => {},
      on: { "*": pgBossInbox(boss, { queue: "mail" })(() => {}) },
    });
    for (const code of ["queue_unavailable", "queue_unavailable", "enqueued", "enqueued"]) {
      expect(await receiver.receive(await signed())).toMatchObject({ code });
    }
    const names = calls.map(({ name }) => name);
    const looks = ["getQueue", "getQueue", "getQueue", "getQueue", "getDb"];
    expect(names).toEqual([...looks, "send", "send"]);
  });

  test.each([
    ["order_1", "order_1"],
    [undefined, expect.stringMatching(/^[\da-f]{32}$/)],
  ])("has the partition %s", async (partition, singletonKey) => {
    const { calls } = await enqueued({ partitionBy: () => partition }, { send: "id" });
    expect(calls.at(-1)?.args[2]).toEqual({ id: key, singletonKey });
  });

  test.each([5, "", "x".repeat(501), "a\0", "a\ud800"])(
    "is refused with the partition %j",
    async (partition) => {
      const { outcome, calls } = await enqueued({ partitionBy: () => partition as string }, {});
      expect(outcome.code).toBe("queue_unavailable");
      expect(calls).toEqual([]);
    },
  );
});

test("a `partitionBy` that returns a promise refuses the delivery, and its error ends no process", async () => {
  const rejected: unknown[] = [];
  const record = (error: unknown) => rejected.push(error);
  process.on("unhandledRejection", record);
  const partitionBy = (() => Promise.reject(new Error("async"))) as never;
  const { outcome, calls } = await enqueued({ partitionBy }, {});
  // Node reports unhandled rejections after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", record);
  expect(rejected).toEqual([]);
  expect(outcome.code).toBe("queue_unavailable");
  expect(calls).toEqual([]);
});

describe("pgBossInbox", () => {
  test.each([undefined, {}, { send: () => {} }])("refuses %j in place of a PgBoss", (boss) => {
    const make = () => pgBossInbox(boss as never);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option", option: "boss" }));
  });

  test.each<[string, object]>([
    ["queue", { queue: "" }],
    ["queue", { queue: "mail box" }],
    ["queue", { queue: "mail.dead" }],
    ["queue", { queue: 5 }],
    ["partitionBy", { partitionBy: "order_id" }],
    ["onDiscard", { onDiscard: true }],
    ["afterDead", { afterDead: "hold" }],
    ["afterDead", { partitionBy: () => "a", afterDead: "stop" }],
    ["schema", { schema: "pg boss" }],
    ["schema", { schema: "" }],
    ["maxRunMs", { maxRunMs: 86_340_001 }],
    ["retry", { retry: 5 }],
    ["retry.limit", { retry: { limit: 0 } }],
    ["retry.firstMs", { retry: { firstMs: 999 } }],
    ["retry.mostMs", { retry: { firstMs: 5_000, mostMs: 4_999 } }],
  ])("refuses an invalid `%s`: %j", (option, options) => {
    const make = () => pgBossInbox(recording().boss, options);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option", option }));
  });

  test.each<[string, object]>([
    ["que", { que: "mail" }],
    ["retry.most", { retry: { most: 5 } }],
  ])("refuses the unknown option `%s`", (option, options) => {
    const make = () => pgBossInbox(recording().boss, options);
    expect(make).toThrow(expect.objectContaining({ code: "unknown_option", option }));
  });

  test.each([0, 1_001, 1.5, "4"])("refuses to run %j jobs at a time", async (concurrency) => {
    const { boss, calls } = recording();
    const receiver = createReceiver({ secret: "whsec_test", on: { "*": () => {} } });
    const working = pgBossInbox(boss).work(receiver, { concurrency: concurrency as number });
    await expect(working).rejects.toMatchObject({ option: "concurrency" });
    expect(calls).toEqual([]);
  });

  test("refuses to work for what is not a receiver", async () => {
    const working = pgBossInbox(recording().boss).work({} as never);
    await expect(working).rejects.toMatchObject({ code: "invalid_option", option: "receiver" });
  });
});

test("an operator's retry of a letter that holds its key waits 10 s for the server", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const executeSql = () => new Promise<never>(() => {});
  const { boss } = recording({
    findJobs: [{ id: crypto.randomUUID(), sourceId: crypto.randomUUID() }],
    getDb: () => ({ executeSql }),
  });
  const { admin } = pgBossInbox(boss, { partitionBy: () => "a", afterDead: "hold" });
  let code: unknown;
  admin.retry(crypto.randomUUID()).catch((error: unknown) => (code = codeOf(error)));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(code).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(code).toBe("queue_unavailable");
});
