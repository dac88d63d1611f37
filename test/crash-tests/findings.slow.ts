import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createReceiver,
  PermanentError,
  type DeliveryStore,
  type Receiver,
} from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import {
  crashReport,
  crashTest,
  type CrashTestOptions,
  type CrashTestReport,
  type World,
} from "@svc-webhooks/testing/crash-test";
import { sized } from "@svc-webhooks/kit/sized";
import { expect, onTestFinished, test } from "vitest";
import { correct, mistakes } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";

const silent = { info() {}, warn() {}, error() {} };
const events = [fixture("email.delivered")];

type On = Parameters<typeof createReceiver>[0];

/** Runs a crash test of a handler over the store in memory. */
const inMemory = (
  on: (world: World) => NonNullable<On["on"]["*"]>,
  options: Partial<CrashTestOptions> = {},
  receiverOptions: Partial<On> = {},
): Promise<CrashTestReport> =>
  crashReport({
    events,
    maxFaults: 1,
    receiver: (world) => {
      const { secret, clock, store, logger } = world;
      return createReceiver({
        secret,
        clock,
        store,
        logger,
        on: { "*": on(world) },
        ...receiverOptions,
      });
    },
    ...options,
  });

const namesIn = ({ findings }: CrashTestReport): readonly string[] => findings.map(nameOf);

/** A handler that charges with a key, as a receiver's only handler. */
const charge = ({ effect }: World): NonNullable<On["on"]["*"]> => {
  const call = effect("charge", (key: string) => key, { key: (key) => key });
  return (_event, { idempotencyKey }) => call(idempotencyKey);
};

test("one fault at each point is tried, and nothing else", async () => {
  const { tried, points } = await inMemory(charge);
  // Three crossings, of which two call the store.
  expect(points).toBe(6);
  const atEachPoint = 2 * points; // crash, freeze
  const atEachCrossing = 4 * (points / 2); // fail, response_lost, duplicate, slow
  const ofTheStore = 2; // outage
  const all = atEachPoint + atEachCrossing + ofTheStore;
  expect(tried).toEqual([{ faults: 1, run: all, of: all }]);
});

const post = (key: string) =>
  fetch("http://api.example.com/charge", { method: "POST", headers: { "Idempotency-Key": key } });

/** A handler that charges with a request, a key and a check of the status. */
const requestCharge = (): NonNullable<On["on"]["*"]> => {
  return async (_event, { idempotencyKey }) => {
    const { ok } = await post(idempotencyKey);
    if (!ok) throw new Error("The charge failed.");
  };
};

test("a call that is a request has one fault more: its status", async () => {
  const { tried, points } = await inMemory(requestCharge);
  const atEachPoint = 2 * points; // crash, freeze
  const atEachCrossing = 4 * (points / 2); // fail, response_lost, duplicate, slow
  const ofTheStore = 2; // outage
  const ofTheRequest = 1; // status
  const all = atEachPoint + atEachCrossing + ofTheStore + ofTheRequest;
  expect(points).toBe(6);
  expect(tried).toEqual([{ faults: 1, run: all, of: all }]);
});

test("a request whose status is not checked is lost if it gets the 503", async () => {
  const { findings } = await inMemory(() => async (_event, { idempotencyKey }) => {
    await post(idempotencyKey);
  });
  const effect = "POST api.example.com/charge";
  expect(findings).toMatchObject([{ kind: "lost", effect, repeat: "status@3" }]);
  expect(findings[0]?.history.map(({ text, fault }) => [text, fault])).toEqual([
    ["claim evt_1", undefined],
    [`status: ${effect} responds 503, not executed`, "status"],
    ["complete evt_1", undefined],
    ["attempt 1: 200 processed", undefined],
  ]);
});

test("a request that gets the 503 does not reach `respond`, as one that fails does not", async () => {
  const callsWith = async (only: string) => {
    let calls = 0;
    const respond = () => {
      calls += 1;
      return Response.json({});
    };
    await inMemory(requestCharge, { only, respond });
    return calls;
  };
  expect(await callsWith("status@3")).toBe(await callsWith("fail@3"));
});

test.each(["status@1", "status@4"])("%s is an error: only requests get a status", async (only) => {
  await expect(inMemory(requestCharge, { only })).rejects.toMatchObject({
    code: "invalid_option",
    message: expect.stringContaining("the fault cannot happen there") as string,
  });
});

test("only the selected kinds are tried", async () => {
  const { tried } = await inMemory(charge, { faults: ["crash", "duplicate"] });
  expect(tried).toEqual([{ faults: 1, run: 9, of: 9 }]);
});

test("dies and freezes double a plain insert where the table of guarantees lists it, and nowhere else", async () => {
  const plain = mistakes.find(({ name }) => name === "insert without transaction");
  if (!plain) throw new Error("The handler is missing.");
  const { findings } = await reportOf(plain, { faults: ["crash", "freeze"], maxFaults: 1 });
  expect(findings[0]?.cells).toEqual(["freeze@3", "crash@4", "freeze@4", "crash@5", "freeze@5"]);
});

test("a statement of the pool inside of the transaction is stuck, without a fault", async () => {
  const report = await reportOf({
    name: "pool in transaction",
    handler:
      ({ store, pool }) =>
      (_event, context) =>
        store.transaction(context, async () => {
          await pool.query("insert into audits (email_id) values ('x')");
        }),
  });
  expect(namesIn(report)).toEqual(["stuck audits"]);
  expect(report.findings[0]).toMatchObject({
    repeat: "",
    advice: expect.stringMatching(/^The statement waits for a connection/) as string,
    source: expect.stringMatching(/^test\/crash-tests\/findings\.slow\.ts:\d+$/) as string,
  });
});

test("a handler that runs for 20 minutes is doubled, without a fault", async () => {
  const report = await inMemory(({ clock, effect }) => {
    const send = effect("send", () => {});
    return async () => {
      await new Promise<void>((resolve) => void clock.after(20 * 60_000, resolve));
      await send();
    };
  });
  expect(namesIn(report)).toEqual(["duplicate send"]);
  expect(report.findings[0]?.repeat).toBe("");
});

test('`onStoreError: "process"` doubles a call without a key in an outage', async () => {
  const report = await inMemory(
    ({ clock, effect }) => {
      const send = effect("send", () => {});
      return async () => {
        // Longer than the sender waits, so that it tries again.
        await new Promise<void>((resolve) => void clock.after(12_000, resolve));
        await send();
      };
    },
    { faults: ["outage"] },
    { onStoreError: "process" },
  );
  expect(namesIn(report)).toEqual(["duplicate send"]);
});

test("an event that is parked because of a fault that passes is lost", async () => {
  const report = await inMemory(({ effect }) => {
    const call = effect("charge", (key: string) => key, { key: (key) => key });
    return async (_event, { idempotencyKey }) => {
      await call(idempotencyKey).catch((cause: unknown) => {
        throw new PermanentError("charge failed", { cause });
      });
    };
  });
  expect(namesIn(report)).toContain("lost charge");
  const lost = report.findings.find(({ kind }) => kind === "lost");
  expect(lost?.advice).toMatch(/^The handler parked the event because of a temporary fault/);
});

test.each([
  {
    name: "marker row first, then insert",
    lines: ["insert into seen, 0 rows", "complete evt_1", "attempt 4: 200 processed"],
    cause: "after `insert into seen` (0 rows)",
  },
  {
    name: "set of ids in memory, added first",
    lines: ["claim evt_1, run 2", "complete evt_1", "attempt 2: 200 processed"],
    cause: "without another call, so the cause is probably a value in memory or in `context`",
  },
])("the history shows why a run ended early: $name", async ({ name, lines, cause }) => {
  const planted = mistakes.find((one) => one.name === name);
  if (!planted) throw new Error("The handler is missing.");
  const { findings } = await reportOf(planted, { faults: ["crash", "fail"], maxFaults: 1 });
  const [finding] = findings;
  expect(finding?.history.slice(-3).map(({ text }) => text)).toEqual(lines);
  expect(finding?.history.at(-1)?.note).toBe(`ended before ${finding?.effect}`);
  expect(finding?.advice).toContain(cause);
});

test.each([
  { through: "a view", insert: "insert into order_ids values ($1)" },
  { through: "a function", insert: "select add_order($1)" },
])(
  "a row that is written through $through has the line of the only statement",
  async ({ insert }) => {
    const report = await crashReport({
      events,
      maxFaults: 1,
      faults: ["response_lost"],
      prepare: async ({ pool }) => {
        await pool.query("create table orders (id text not null)");
        await pool.query("create view order_ids as select id from orders");
        await pool.query(
          "create function add_order(id text) returns void language sql as 'insert into orders values (id)'",
        );
      },
      receiver: ({ secret, clock, store, pool }) =>
        createReceiver({
          secret,
          clock,
          store,
          logger: silent,
          on: { "*": () => pool.query(insert, ["1"]) },
        }),
    });
    expect(namesIn(report)).toEqual(["duplicate orders"]);
    expect(report.findings[0]?.source).toMatch(/^test\/crash-tests\/findings\.slow\.ts:\d+$/);
  },
);

test("a row with a random number of node:crypto is nondeterministic", async () => {
  const run = reportOf({
    name: "random row",
    handler:
      ({ pool }) =>
      () =>
        pool.query("insert into seen values ($1)", [randomUUID()]),
  });
  await expect(run).rejects.toMatchObject({ code: "nondeterministic" });
});

test("a row with `crypto.randomUUID`, `Date` and a sequence gets no finding if it is written once", async () => {
  const report = await reportOf(
    {
      name: "natural values",
      handler:
        ({ store }) =>
        (_event, context) =>
          store.transaction(context, async (tx) => {
            const { rows } = await tx.query<{ id: number }>(
              "insert into orders (email_id) values ('x') returning id",
            );
            const text = `order ${rows[0]?.id}, ${crypto.randomUUID()}, ${new Date().toISOString()}`;
            await tx.query("insert into outbox (mail) values ($1)", [text]);
          }),
    },
    { maxFaults: 1 },
  );
  expect(namesIn(report)).toEqual([]);
});

test("a handler that does nothing because a variable of its module remembers the event is an error", async () => {
  const seen = new Set<string>();
  const report = await inMemory(({ effect }) => {
    const send = effect("send", () => {});
    return async (_event, { idempotencyKey }) => {
      if (seen.has(idempotencyKey)) return;
      await send();
      seen.add(idempotencyKey);
    };
  }).catch((error: unknown) => error);
  // The second history finds the id of the first, and sends nothing.
  expect(report).toMatchObject({
    code: "no_effect",
    message: expect.stringContaining("a module-level variable") as string,
  });
});

test("a handler that fails after its transaction, without a fault, is an error", async () => {
  const insert = "insert into orders (email_id) values ('a')";
  const report = reportOf({
    name: "two transactions",
    handler:
      ({ store }) =>
      async (_event, context) => {
        await store.transaction(context, (tx) => tx.query(insert));
        await store.transaction(context, (tx) =>
          tx.query("insert into outbox (mail) values ('a')"),
        );
      },
  });
  await expect(report).rejects.toMatchObject({
    code: "not_acknowledged",
    message: expect.stringMatching(
      /^The handler of email\.delivered rejects after its transaction has completed the event[^]*TransactionLostError/,
    ) as string,
  });
});

test("one of several events without a handler is an error", async () => {
  const report = inMemory(
    charge,
    { events: [fixture("email.sent"), fixture("email.delivered")] },
    { on: { "email.delivered": () => {} } },
  );
  await expect(report).rejects.toMatchObject({
    code: "no_effect",
    message: expect.stringMatching(/^email\.sent has no effect/) as string,
  });
});

test.each<{
  readonly cause: string;
  readonly code: string;
  readonly hint: RegExp;
  readonly options: Partial<On>;
}>([
  {
    cause: "a wrong secret",
    code: "not_acknowledged",
    hint: /Pass `world\.secret`/,
    options: { secret: "whsec_bm90IHRoZSBzZWNyZXQgb2YgdGhlIHdvcmxk" },
  },
  {
    cause: "a handler that rejects",
    code: "not_acknowledged",
    hint: /The handler rejects\.\nThe last error: .*the ledger is locked/,
    options: { on: { "*": () => Promise.reject(new Error("the ledger is locked")) } },
  },
  {
    cause: "a type without a handler",
    code: "no_effect",
    hint: /No handler is registered/,
    options: { on: { "invoice.paid": () => {} } },
  },
])("$cause is named if the event has no effect without faults", async ({ code, hint, options }) => {
  await expect(inMemory(charge, {}, options)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(hint) as string,
  });
});

/** Replaces the store of a world. */
const overStore =
  (change: (store: DeliveryStore) => Partial<DeliveryStore>) =>
  ({ store }: World): DeliveryStore => ({ ...store, ...change(store) });

/** Changes the outcomes of a receiver. */
const respondingFor = (receiver: Receiver): Receiver => ({
  ...receiver,
  receive: async (...args) => {
    const outcome = await receiver.receive(...args);
    return outcome.code === "in_flight" ? { ...outcome, code: "duplicate", status: 200 } : outcome;
  },
});

test("a receiver that responds with 200 to copies in flight loses the effect", async () => {
  const report = await crashReport({
    events,
    maxFaults: 1,
    receiver: (world) => {
      const { secret, clock, store } = world;
      const on = { "*": charge(world) };
      return respondingFor(createReceiver({ secret, clock, store, logger: silent, on }));
    },
  });
  expect(namesIn(report)).toEqual(["lost charge"]);
});

test.each([
  {
    name: "completes before the handler",
    finding: "lost charge",
    handler: charge,
    change: overStore((store) => ({
      async claim(key, request, call) {
        const result = await store.claim(key, request, call);
        if (result.status === "claimed") await store.complete(key, request, call);
        return result;
      },
    })),
  },
  {
    name: "releases while the handler runs",
    finding: "duplicate send",
    handler: ({ effect }: World) => {
      const send = effect("send", () => {});
      return () => send();
    },
    change: overStore((store) => ({
      async claim(key, request, call) {
        const result = await store.claim(key, request, call);
        if (result.status === "claimed")
          await store.release(key, { ...request, to: "failed" }, call);
        return result;
      },
    })),
  },
])("a receiver that $name gets $finding", async ({ finding, handler, change }) => {
  const faults = ["crash", "duplicate"] as const;
  const healthy = await inMemory(handler, { faults: ["duplicate"] });
  expect(namesIn(healthy)).toEqual([]);
  const report = await crashReport({
    events,
    maxFaults: 1,
    faults,
    receiver: (world) =>
      createReceiver({
        secret: world.secret,
        clock: world.clock,
        store: change(world),
        logger: silent,
        on: { "*": handler(world) },
      }),
  });
  expect(namesIn(report)).toContain(finding);
});

test("an accepted finding is listed, and does not fail the test", async () => {
  const [first] = mistakes;
  if (!first) throw new Error("The handler is missing.");
  const accept = ["duplicate POST api.example.com/charge"];
  const report = await reportOf(first, { accept, maxFaults: 1 });
  expect(namesIn(report)).toEqual([]);
  expect(report.accepted.map(nameOf)).toEqual(["duplicate charge"]);
  expect(report.text).toContain("Accepted: duplicate POST api.example.com/charge.");
});

test("an accepted finding that does not occur fails the test", async () => {
  const run = inMemory(charge, { accept: ["duplicate charge"] });
  await expect(run).rejects.toMatchObject({ code: "accepted_not_found" });
});

test.each(["stuck charge", "nondeterministic", "duplicate"])(
  "`accept` refuses %j",
  async (name) => {
    const run = inMemory(charge, { accept: [name] });
    await expect(run).rejects.toMatchObject({ code: "invalid_option" });
  },
);

test("`crashTest` rejects with the report", async () => {
  const run = crashTest({
    events,
    maxFaults: 1,
    receiver: (world) => {
      const send = world.effect("send", () => {});
      const { secret, clock, store } = world;
      return createReceiver({ secret, clock, store, logger: silent, on: { "*": () => send() } });
    },
  });
  await expect(run).rejects.toMatchObject({
    code: "findings",
    message: expect.stringContaining("✗ duplicate send") as string,
    report: { findings: [{ kind: "duplicate", effect: "send" }] },
  });
});

test("two faults are tried if one finds nothing, as many as `maxHistories`", async () => {
  const report = await inMemory(charge, { maxFaults: 2, maxHistories: 40 });
  expect(report.tried.map(({ faults, run }) => [faults, run])).toEqual([
    [1, 26],
    [2, 40],
  ]);
  expect(report.text).toMatch(/^No finding in 66 histories: 26 of 26 with one fault/m);
});

test.each(Array.from({ length: sized(3, 10) }, (_, at) => at + 1))(
  "the correct handlers get no finding with pairs of seed %i",
  async (seed) => {
    const planted = correct[seed % correct.length];
    if (!planted) throw new Error("The handler is missing.");
    const report = await reportOf(planted, { seed, maxHistories: 15 });
    expect(namesIn(report)).toEqual([]);
  },
);

test("a store of PostgreSQL and the tables are created by `receiver` itself", async () => {
  const report = await crashReport({
    events,
    maxFaults: 1,
    faults: ["crash"],
    receiver: async ({ secret, clock, pool }) => {
      await migrate(pool);
      await pool.query("create table if not exists mails (id serial, key text)");
      const store = postgresStore(pool);
      return createReceiver({
        name: "crash-test",
        secret,
        clock,
        store,
        logger: silent,
        on: {
          "*": (_event, context) =>
            store.transaction(context, (tx) =>
              tx.query("insert into mails (key) values ($1)", [context.idempotencyKey]),
            ),
        },
      });
    },
  });
  expect(namesIn(report)).toEqual([]);
  expect(report.points).toBe(8);
});

test.each([
  { where: "next to those of the store", schema: "public", before: "select 1" },
  {
    where: "in a schema with a function `claim_1` and a table `deliveries`",
    schema: "svc_webhooks",
    before:
      "create function claim_1() returns int language sql as 'select 1'; create table deliveries (id serial)",
  },
  {
    where: "next to 120 others",
    schema: "public",
    before: Array.from({ length: 120 }, (_, n) => `create table other_${n} (id serial)`).join("; "),
  },
])("tables $where are compared", async ({ schema, before }) => {
  const report = await crashReport({
    events,
    maxFaults: 1,
    faults: ["crash"],
    prepare: async ({ pool }) => {
      await migrate(pool, { schema });
      await pool.query(before);
      await pool.query("create table orders (key text)");
    },
    receiver: ({ secret, clock, pool }) =>
      createReceiver({
        name: "crash-test",
        secret,
        clock,
        store: postgresStore(pool, { schema }),
        logger: silent,
        on: {
          "*": (_event, { idempotencyKey }) =>
            pool.query("insert into orders values ($1)", [idempotencyKey]),
        },
      }),
  });
  expect(namesIn(report)).toEqual(["duplicate orders"]);
  expect(report.findings[0]?.history.map(({ text }) => text).join()).toContain("claim evt_1");
});

test("a folder for the report that cannot be written is an error before the first history", async () => {
  const started: string[] = [];
  const run = inMemory(charge, {
    reportTo: "package.json/reports",
    prepare: async () => void started.push("prepare"),
  });
  await expect(run).rejects.toThrow(/^`reportTo` cannot be written: .*package\.json/);
  await expect(run).rejects.toMatchObject({ code: "invalid_option" });
  expect(started).toEqual([]);
});

test("a report that cannot be written is in the error", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const run = inMemory(charge, {
    reportTo: folder,
    prepare: async () => {
      mkdirSync(join(folder, "crash-test.json"), { recursive: true });
    },
  });
  await expect(run).rejects.toThrow(/^crash test of [^]*`reportTo` cannot be written: .*EISDIR/);
  await expect(run).rejects.toMatchObject({ code: "invalid_option", report: { findings: [] } });
});

test("columns that are not compared are in the report", async () => {
  const report = await crashReport({
    events,
    maxFaults: 1,
    faults: ["crash"],
    prepare: async ({ pool }) => {
      await pool.query(`
        create table orders (id serial, at timestamptz default now(), noted text, key text unique);
        create table untouched (id serial)`);
    },
    receiver: ({ secret, clock, logger, store, pool }) =>
      createReceiver({
        secret,
        clock,
        logger,
        store,
        on: {
          "*": (_event, { idempotencyKey }) =>
            pool.query(
              "insert into orders (at, noted, key) values ($1, $2, $3) on conflict do nothing",
              [new Date(0), new Date(), idempotencyKey],
            ),
        },
      }),
  });
  expect(report.notCompared).toEqual(["orders.at", "orders.id", "orders.noted"]);
  expect(report.text).toContain("\nNot compared: orders.at; orders.id; orders.noted.\n");
});
