import type { AnyEvent, DeliveryContext, DeliveryStore, Outcome } from "@svc-webhooks/core";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import {
  migrate,
  sqliteInbox,
  sqliteStore,
  type SqliteInboxDatabase,
  type SqliteInboxOptions,
} from "@svc-webhooks/sqlite";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { effects, insert } from "./support.js";

type Run = (event: AnyEvent, context: DeliveryContext) => unknown;

interface Setup extends SqliteInboxOptions {
  /** Default: a new file with the tables. */
  readonly file?: string;
  /** Replaces the connection that the inbox and the store receive. */
  readonly wrap?: (db: DatabaseSyncInstance) => SqliteInboxDatabase;
  readonly store?: DeliveryStore;
  /** Default: inserts the event's name into `effects`, in `transaction`. */
  readonly run?: Run;
}

const retry = { limit: 2, firstMs: 1, mostMs: 1 };

/** Opens a connection with an inbox, and a receiver whose deliveries are stored in it. */
function open({ file = sqliteFile(), wrap = (own) => own, store, run, ...options }: Setup = {}) {
  const db = openSqlite(file);
  const on = wrap(db);
  const own = sqliteStore(on);
  const inbox = sqliteInbox(on, { retry, ...options });
  migrate(db);
  db.exec("create table if not exists effects (name text)");
  const inTransaction: Run = ({ name }, context) =>
    own.transaction(context, () => insert(db, String(name)));
  const observed = observedReceiver({
    store: store ?? own,
    on: { "*": inbox((run ?? inTransaction) as never) },
  });
  const work = async () => {
    const worker = await inbox.work(observed.receiver);
    onTestFinished(() => worker.stop({ deadlineMs: 0 }));
    return worker;
  };
  const send = async (name: string, id = name): Promise<Outcome> =>
    observed.receive(signed(eventBody("email.sent", { name }), { "x-svc-delivery-id": id }));
  return { ...observed, file, db, own, inbox, work, send };
}

const jobsIn = (db: DatabaseSyncInstance) => db.prepare("select * from svc_webhooks_jobs").all();
const isEmpty = (db: DatabaseSyncInstance) => () => jobsIn(db).length === 0;

/** Records the statements that change something, with the value of `synchronous` at each commit. */
function spy(db: DatabaseSyncInstance) {
  const writes: string[] = [];
  let synchronous = "FULL";
  const note = (sql: string) => {
    for (const [, value = ""] of sql.matchAll(/synchronous=(\w+)/gi)) synchronous = value;
    if (sql === "COMMIT") writes.push(`commit ${synchronous.toUpperCase()}`);
  };
  const wrapped: SqliteInboxDatabase = {
    exec(sql) {
      note(sql);
      db.exec(sql);
    },
    prepare: (sql) => db.prepare(sql),
  };
  return { writes, wrapped };
}

describe("the commits of an inbox", () => {
  test("deliveries that arrive together share one, and a copy writes nothing", async () => {
    let spied: ReturnType<typeof spy> | undefined;
    const { send, inbox } = open({ wrap: (db) => (spied = spy(db)).wrapped });
    const names = Array.from({ length: 16 }, (_, index) => `e${index}`);
    const outcomes = await Promise.all(names.map((name) => send(name)));
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set(["enqueued"]));
    expect(spied?.writes).toEqual(["commit FULL"]);
    expect((await send("e0")).code).toBe("enqueued");
    expect(spied?.writes).toHaveLength(1);
    expect(await inbox.admin.stats()).toMatchObject({ ready: 16 });
  });

  test.each([
    ["accept", new Set(["commit NORMAL"])],
    ["each", new Set(["commit NORMAL", "commit FULL"])],
  ] as const)(
    "with durability %s, those of a worker wait for the disk or not",
    async (durability, expected) => {
      let spied: ReturnType<typeof spy> | undefined;
      const { send, work, db } = open({ durability, wrap: (own) => (spied = spy(own)).wrapped });
      await send("a");
      const accepted = spied?.writes.splice(0);
      await work();
      await until(isEmpty(db), "the job is done");
      expect(accepted).toEqual(["commit FULL"]);
      // A claim never waits for the disk.
      expect(new Set(spied?.writes)).toEqual(expected);
      expect(effects(db)).toEqual(["a"]);
    },
  );

  test("a run with transaction needs no other commit than those of take and claim", async () => {
    let spied: ReturnType<typeof spy> | undefined;
    const { send, work, db } = open({ wrap: (own) => (spied = spy(own)).wrapped });
    await send("a");
    spied?.writes.splice(0);
    await work();
    await until(isEmpty(db), "the job is done");
    await until(() => (spied?.writes.length ?? 0) >= 3, "the run has ended");
    expect(spied?.writes).toHaveLength(3);
  });

  test("the user's setting is restored between ours, also if work throws", async () => {
    const found: unknown[] = [];
    const setting = (db: DatabaseSyncInstance) =>
      Object.values(db.prepare("pragma synchronous").get() ?? {})[0];
    const { send, work, db, own, inbox } = open({
      async run(_event, context) {
        found.push(setting(db));
        try {
          own.transaction(context, (): void => {
            throw new Error("refused");
          });
        } catch {
          found.push(setting(db));
        }
        own.transaction(context, () => insert(db, "a"));
        await Promise.resolve();
        found.push(setting(db));
      },
    });
    await send("a");
    await work();
    await until(isEmpty(db), "the job is done");
    await until(async () => (await inbox.admin.stats()).active === 0, "the run has ended");
    expect([found, effects(db)]).toEqual([[2, 2, 2], ["a"]]);
  });

  test("a handler without an inbox keeps its commits durable", async () => {
    let spied: ReturnType<typeof spy> | undefined;
    const { own } = open({ wrap: (db) => (spied = spy(db)).wrapped });
    const { receive } = observedReceiver({ store: own, on: { "*": () => {} } });
    expect((await receive()).code).toBe("processed");
    expect(spied?.writes).toEqual(["commit NORMAL", "commit FULL"]);
  });
});

describe("the record settles the job", () => {
  test.each([
    [
      "an insert",
      "insert or replace into svc_webhooks_deliveries (key, state, expires_at) values (?, 'd', ?)",
    ],
    ["an update", "update svc_webhooks_deliveries set state = 'd', key = ?, expires_at = ?"],
  ])("by %s", async (_how, sql) => {
    const { send, db, own, inbox } = open({ partitionBy: () => "p" });
    await send("a");
    await send("b");
    const [first] = jobsIn(db) as { key: Uint8Array }[];
    const key = Buffer.from(first?.key ?? "").toString("hex");
    // The record of a run, which an update can complete.
    const { signal } = new AbortController();
    await own.claim(key, { token: "t", leaseMs: 30_000, retainMs: 60_000 }, { signal });
    db.prepare(sql).run(first?.key ?? null, Date.now() + 60_000);
    expect(jobsIn(db)).toEqual([expect.objectContaining({ due_at: expect.any(Number) })]);
    expect(await inbox.admin.stats()).toMatchObject({ ready: 1 });
  });

  test("a letter whose event is done elsewhere is gone, and holds nothing", async () => {
    const { send, work, db, inbox } = open({
      partitionBy: () => "p",
      afterDead: "hold",
      retry: { limit: 1 },
      run: ({ name }) => {
        if (name === "a") throw new Error("refused");
        insert(db, String(name));
      },
    });
    await send("a");
    await send("b");
    await work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "the letter");
    expect(await inbox.admin.stats()).toMatchObject({ ready: 1, heldKeys: 1 });
    db.prepare("update svc_webhooks_deliveries set state = 'd'").run();
    await until(isEmpty(db), "the other event is done");
    expect(effects(db)).toEqual(["b"]);
  });

  test("without its triggers, check names them, and a worker ends the jobs", async () => {
    const { send, work, db, inbox } = open();
    for (const name of ["settle", "settle_update", "next", "skip"])
      db.exec(`drop trigger svc_webhooks_${name}`);
    expect(await inbox.check()).toEqual([
      expect.stringContaining("svc_webhooks_settle and svc_webhooks_settle_update"),
    ]);
    await send("a");
    await work();
    await until(isEmpty(db), "the job is done");
    expect(effects(db)).toEqual(["a"]);
    migrate(db);
  });

  test("with a store elsewhere, the worker removes the job", async () => {
    const { db: records } = open();
    const { send, work, db, inbox } = open({ store: sqliteStore(records), run: () => {} });
    await send("a");
    await work();
    await until(isEmpty(db), "the job is done");
    expect(await inbox.admin.stats()).toMatchObject({ active: 0, dead: 0 });
  });
});

test("an idle worker writes nothing", async () => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
  });
  onTestFinished(() => void vi.useRealTimers());
  let spied: ReturnType<typeof spy> | undefined;
  const { work } = open({ wrap: (db) => (spied = spy(db)).wrapped });
  await work();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(spied?.writes).toEqual([]);
});

test("a clock that was set back delays no job, and changes no order", async () => {
  const { send, work, db } = open({ partitionBy: () => "p" });
  for (const name of ["a", "b", "c"]) await send(name);
  const hour = 3_600_000;
  db.exec(
    `update svc_webhooks_jobs set stored_at = stored_at + ${hour}, due_at = due_at + ${hour}`,
  );
  await work();
  await until(isEmpty(db), "the jobs are done");
  expect(effects(db)).toEqual(["a", "b", "c"]);
});

test("a job behind many of a held key is taken without reading them", async () => {
  const { db, send, work } = open({ partitionBy: ({ name }) => (name === "b" ? undefined : "p") });
  await send("a");
  db.exec(`insert into svc_webhooks_jobs (queue, key, part, stored_at, job)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    select queue, randomblob(16), part, stored_at, job from svc_webhooks_jobs, n`);
  const plan = db
    .prepare(
      "explain query plan select key from svc_webhooks_jobs where queue = ? and died_at is null and due_at <= ? order by due_at, taken_by, seq limit ?",
    )
    .all("webhooks", Date.now(), 16);
  expect(JSON.stringify(plan)).toContain(
    "svc_webhooks_jobs_by_state (queue=? AND died_at=? AND due_at<?)",
  );
  expect(JSON.stringify(plan)).not.toContain("TEMP B-TREE");
  db.exec("update svc_webhooks_jobs set due_at = null");
  await send("b");
  await work();
  await until(() => effects(db).length === 1, "the other job is done");
  expect(effects(db)).toEqual(["b"]);
});

describe("a full disk", () => {
  test("below the reserve, deliveries are refused, copies are not, and all that was accepted runs", async () => {
    const { send, work, db, inbox, file, lines } = open();
    await send("a");
    const reserved = open({ file, reserveBytes: Number.MAX_SAFE_INTEGER });
    expect(await reserved.send("b")).toMatchObject({ status: 503, code: "queue_unavailable" });
    expect(reserved.lines.join()).toContain("less than `reserveBytes`");
    expect((await reserved.send("a")).code).toBe("enqueued");
    expect((await reserved.inbox.check()).join()).toContain("`reserveBytes`");
    expect(await inbox.check()).toEqual([]);
    await work();
    await until(isEmpty(db), "the job is done");
    expect([effects(db), lines]).toEqual([["a"], []]);
  });

  test("a database that may not grow refuses with 503, and stays intact", async () => {
    const { send, db, inbox } = open();
    db.exec("pragma max_page_count = 1");
    const names = Array.from({ length: 200 }, (_, index) => `e${index}`);
    const codes: string[] = [];
    for (const name of names) codes.push((await send(`${name} ${"x".repeat(2_000)}`, name)).code);
    const accepted = codes.filter((code) => code === "enqueued").length;
    expect(codes.at(-1)).toBe("queue_unavailable");
    expect(await inbox.admin.stats()).toMatchObject({ ready: accepted });
    expect(db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  });
});

test("while the file is locked, deliveries are refused at their deadline, and copies are accepted", async () => {
  const { send, file } = open();
  await send("a");
  const other = openSqlite(file);
  other.exec("begin immediate");
  expect((await send("a")).code).toBe("enqueued");
  const waiting = send("b");
  other.exec("commit");
  expect((await waiting).code).toBe("enqueued");
});

test("a worker whose connection was closed reports once, and stop resolves", async () => {
  const errors: unknown[] = [];
  const { work, db, send } = open({ onError: (error) => errors.push(error) });
  const worker = await work();
  db.close();
  await until(() => errors.length > 0, "the error is reported");
  await worker.stop({ deadlineMs: 0 });
  expect(errors).toEqual([expect.objectContaining({ code: "database_closed" })]);
  expect((await send("a")).status).toBe(503);
});

test("jobs that still run at the deadline of stop are given back without an attempt", async () => {
  const running = gate();
  let runs = 0;
  const { send, work, db, inbox } = open({
    run: async () => {
      runs += 1;
      if (runs === 1) await running.opened;
    },
  });
  await send("a");
  const worker = await work();
  await until(() => runs === 1, "the job runs");
  await worker.stop({ deadlineMs: 0 });
  expect(await inbox.admin.stats()).toMatchObject({ ready: 1, active: 0 });
  running.open(undefined);
  await work();
  await until(isEmpty(db), "the job is done");
});

test("a job that a draining receiver refuses waits, without an attempt", async () => {
  const { send, inbox } = open();
  await send("a");
  const draining = { resume: () => Promise.resolve({ code: "draining", status: 503 }) };
  const worker = await inbox.work(draining as never);
  onTestFinished(() => worker.stop({ deadlineMs: 0 }));
  await until(async () => (await inbox.admin.stats()).delayed === 1, "the job waits");
  const found: number[] = [];
  for await (const { attempts } of inbox.admin.list({ state: "delayed" })) found.push(attempts);
  expect(found).toEqual([0]);
});

test("a long list does not block the process", async () => {
  const { db, inbox } = open();
  db.exec(`insert into svc_webhooks_jobs (queue, key, stored_at, due_at, job)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    select 'webhooks', randomblob(16), 1, 1, '{}' from n`);
  let turns = 0;
  const turning = setInterval(() => (turns += 1), 0);
  onTestFinished(() => clearInterval(turning));
  let count = 0;
  for await (const { state } of inbox.admin.list({ state: "ready" }))
    count += state === "ready" ? 1 : 0;
  expect(count).toBe(1_000);
  expect(turns).toBeGreaterThan(0);
});

test.each([
  ["a key that is no blob", "'00'", 0],
  ["a key of another length", "x'00'", 0],
  ["a negative number of attempts", "randomblob(16)", -1],
])("the table refuses %s", (_what, key, attempts) => {
  const { db } = open();
  const sql = `insert into svc_webhooks_jobs (queue, key, stored_at, attempts, job)
    values ('webhooks', ${key}, 1, ${attempts}, '{}')`;
  expect(() => db.exec(sql)).toThrow(/CHECK constraint failed/);
});

describe("mistakes", () => {
  test.each([
    ["durability", { durability: "none" }],
    ["reserveBytes", { reserveBytes: -1 }],
    ["busyTimeoutMs", { busyTimeoutMs: 1.5 }],
    ["onError", { onError: 5 }],
  ])("the option %s is checked", (option, options) => {
    expect(() => sqliteInbox(openSqlite(), options as never)).toThrow(
      expect.objectContaining({ code: "invalid_option", option }),
    );
  });

  test("a connection whose store does not wait for the disk is refused with the fix", () => {
    const db = openSqlite();
    sqliteStore(db, { synchronous: "normal" });
    expect(() => sqliteInbox(db)).toThrow(/`synchronous` "full"/);
    const other = openSqlite();
    sqliteInbox(other);
    expect(() => sqliteStore(other, { synchronous: "normal" })).toThrow(/`synchronous` "full"/);
  });

  test("a driver without `all` is refused with the fix", () => {
    const db = openSqlite();
    const without = {
      exec: (sql: string) => db.exec(sql),
      prepare: (sql: string) => {
        const statement = db.prepare(sql);
        return { run: statement.run.bind(statement), get: statement.get.bind(statement) };
      },
    };
    expect(() => sqliteInbox(without as never)).toThrow(/statements have `all`/);
  });

  test("work needs a receiver, and tables of this version", async () => {
    const inbox = sqliteInbox(openSqlite());
    await expect(inbox.work(5 as never)).rejects.toMatchObject({ option: "receiver" });
    const receiver = { resume: () => Promise.reject(new Error()) };
    await expect(inbox.work(receiver)).rejects.toMatchObject({ code: "schema_missing" });
    expect((await inbox.check()).join()).toContain("migrate(db)");
    const { db, inbox: newer } = open();
    db.exec("insert into svc_webhooks_versions (version) values (99)");
    await expect(newer.work(receiver)).rejects.toMatchObject({ code: "schema_newer" });
    expect((await newer.check()).join()).toContain("version 99");
  });

  test("a letter that is older than a day is named", async () => {
    const { send, work, db, inbox } = open({
      retry: { limit: 1 },
      run: () => {
        throw new Error("refused");
      },
    });
    await send("a");
    await work();
    await until(async () => (await inbox.admin.stats()).dead === 1, "the letter");
    expect(await inbox.check()).toEqual([]);
    db.exec("update svc_webhooks_jobs set died_at = died_at - 86400001");
    expect(await inbox.check()).toEqual([expect.stringContaining("older than a day")]);
  });

  test("a letter of another queue moves to the queue that accepts its copy", async () => {
    const run = () => {
      throw new Error("refused");
    };
    const first = open({ queue: "old", retry: { limit: 1 }, run });
    await first.send("a");
    const worker = await first.work();
    await until(async () => (await first.inbox.admin.stats()).dead === 1, "the letter");
    await worker.stop({ deadlineMs: 0 });
    const second = open({ file: first.file, queue: "new" });
    expect((await second.send("a")).code).toBe("enqueued");
    expect([await first.inbox.admin.stats(), await second.inbox.admin.stats()]).toMatchObject([
      { dead: 0 },
      { ready: 1 },
    ]);
  });
});

test("tables of version 1 keep their records", async () => {
  const { db, own, send, work } = open();
  db.exec(`drop table svc_webhooks_jobs; delete from svc_webhooks_versions;
    insert into svc_webhooks_versions (version) values (1)`);
  for (const name of ["settle", "settle_update"]) db.exec(`drop trigger svc_webhooks_${name}`);
  const { signal } = new AbortController();
  const key = "1".repeat(32);
  const request = { token: "t", leaseMs: 30_000, retainMs: 60_000 };
  await own.claim(key, request, { signal });
  await own.complete(key, request, { signal });
  expect(migrate(db)).toBe(true);
  expect(await own.claim(key, request, { signal })).toMatchObject({ status: "done" });
  await send("a");
  await work();
  await until(isEmpty(db), "the job is done");
});
