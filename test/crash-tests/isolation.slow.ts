import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as timers from "node:timers";
import * as timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { createReceiver } from "@svc-webhooks/core";
import { fixture } from "@svc-webhooks/testing";
import { crashReport, crashTest, type CrashTestOptions } from "@svc-webhooks/testing/crash-test";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { mistakes } from "./handlers.js";
import { reportOf } from "./in-process.js";

type Handle = Parameters<typeof createReceiver>[0]["on"]["*"];

const silent = { info() {}, warn() {}, error() {} };

/** The options of a crash test without PostgreSQL. */
const optionsFor = (
  handle: NonNullable<Handle>,
  options: Partial<CrashTestOptions> = {},
): CrashTestOptions => ({
  events: [fixture("email.delivered")],
  maxFaults: 1,
  receiver: ({ secret, clock, store }) =>
    createReceiver({ name: "isolated", secret, clock, store, logger: silent, on: { "*": handle } }),
  ...options,
});

/** A correct handler. */
const keyed: NonNullable<Handle> = (_event, { idempotencyKey }) =>
  post({ "Idempotency-Key": idempotencyKey });

const charging = () => post();

async function post(headers: Record<string, string> = {}): Promise<void> {
  const { ok } = await fetch("http://api.example.com/charge", { method: "POST", headers });
  if (!ok) throw new Error("The charge failed.");
}

/** Returns what a crash test replaces: the descriptors of globals, and the listeners of the process. */
function snapshot(): object {
  // Node creates these when they are first read.
  void [Request, Response, Headers];
  const targets = {
    globalThis,
    Math,
    crypto,
    performance,
    AbortSignal,
    Date,
    dates: Date.prototype,
    process,
    timers: (timers as { readonly default?: object }).default ?? timers,
    timersPromises: (timersPromises as { readonly default?: object }).default ?? timersPromises,
  };
  const descriptors = Object.entries(targets).map(
    ([name, target]) => [name, Object.getOwnPropertyDescriptors(target)] as const,
  );
  const named = [timers.setTimeout, timers.clearInterval, timersPromises.setTimeout];
  const listeners = (["unhandledRejection", "uncaughtException", "rejectionHandled"] as const).map(
    (event) => process.rawListeners(event),
  );
  // A process copies its own events whenever a listener is removed.
  const same = descriptors.map(([name, all]) => [
    name,
    Object.fromEntries(
      Object.entries(all).filter(([one]) => !/^_events|^_eventsCount|^Symbol/.test(one)),
    ),
  ]);
  return { same, named, listeners };
}

/** The real time, whatever replaces the globals later. */
const realNow = performance.now.bind(performance);

/** Asserts that a time was read between two others, to a second: the clock of the machine may be adjusted. */
function expectBetween(before: number, time: number, after: () => number) {
  expect(time).toBeGreaterThan(before - 1_000);
  expect(time).toBeLessThan(after() + 1_000);
}

const server = createServer((_request, response) => void response.end("real"));
let url = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(() => void server.close());

test("another test of the process has the real time, random numbers and fetch meanwhile", async () => {
  // Any time may pass on a busy machine, but the same on each clock.
  const offset = Date.now() - realNow();
  let rounds = 0;
  const state = { isOver: false };
  const run = crashTest(optionsFor(keyed, { maxFaults: 2, maxHistories: 30 })).finally(() => {
    state.isOver = true;
  });
  const uuids = new Set<string>();
  while (!state.isOver) {
    rounds += 1;
    uuids.add(crypto.randomUUID());
    uuids.add(String(crypto.getRandomValues(new Uint32Array(4))));
    uuids.add(String(Math.random()));
    for (const time of [Date.now, () => new Date().getTime(), () => performance.now() + offset])
      expectBetween(realNow() + offset, time(), () => realNow() + offset);
    expect(await (await fetch(url)).text()).toBe("real");
    const before = performance.now();
    // Timers count from the start of their turn of the loop, which is now later than `before`.
    await promisify(setImmediate)();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await timersPromises.setTimeout(5);
    await promisify(setTimeout)(5);
    // The loop has its time in whole milliseconds.
    expect(performance.now() - before).toBeGreaterThanOrEqual(12);
    const { signal } = AbortSignal.timeout(1) && new AbortController();
    expect(signal.aborted).toBe(false);
    const timer = setTimeout(() => {}, 1_000_000);
    expect(timer.constructor.name).toBe("Timeout");
    clearTimeout(Number(timer));
    expect(new Date().constructor).toBe(Date);
    expect(structuredClone(new Date(5))).toBeInstanceOf(Date);
  }
  await run;
  expect(rounds).toBeGreaterThan(1);
  expect(uuids.size).toBe(3 * rounds);
});

test("restores every global and listener", async () => {
  const before = snapshot();
  await crashTest(optionsFor(keyed));
  expect(snapshot()).toEqual(before);
});

test("restores a listener that is called once", async () => {
  const listener = vi.fn<() => void>();
  process.once("unhandledRejection", listener);
  const before = snapshot();
  try {
    await crashTest(optionsFor(keyed));
    expect(snapshot()).toEqual(before);
  } finally {
    process.off("unhandledRejection", listener);
  }
  expect(listener).not.toHaveBeenCalled();
});

test.each([
  { why: "a finding", options: optionsFor(charging) },
  { why: "a wrong option", options: optionsFor(charging, { maxFaults: 0 }) },
  {
    why: "an error of `receiver`",
    options: optionsFor(charging, {
      receiver: () => {
        throw new Error("planned");
      },
    }),
  },
  {
    why: "an error of `observe`",
    options: optionsFor(charging, {
      observe: {
        mails: () => {
          throw new Error("planned");
        },
      },
    }),
  },
  { why: "an event that is not acknowledged", options: optionsFor(() => Promise.reject()) },
])("restores every global and listener after $why", async ({ options }) => {
  const before = snapshot();
  await expect(crashTest(options)).rejects.toThrow(/./);
  expect(snapshot()).toEqual(before);
});

test.each([
  { order: "the first ends last", first: 2, second: 1 },
  { order: "the first ends first", first: 1, second: 2 },
])("two at the same time restore every global and listener: $order", async ({ first, second }) => {
  const before = snapshot();
  const ended: string[] = [];
  const run = async (name: string, maxFaults: number) => {
    await crashTest(optionsFor(keyed, { maxFaults, maxHistories: 30 }));
    ended.push(name);
  };
  await Promise.all([run("first", first), run("second", second)]);
  expect(ended[0]).toBe(first < second ? "first" : "second");
  expect(snapshot()).toEqual(before);
});

test("no timer, handle or rejection of the code under test remains", async () => {
  const rejections = vi.fn<() => void>();
  process.on("unhandledRejection", rejections);
  try {
    const own = () => process.getActiveResourcesInfo().filter((type) => type !== "Timeout");
    const before = own();
    // The process also has resources of the test runner, which come and go.
    const added = () => {
      const known = [...before];
      return own().filter((type) => {
        const at = known.indexOf(type);
        if (at !== -1) known.splice(at, 1);
        return at === -1;
      });
    };
    const handle = () => {
      setInterval(() => {}, 10_000);
      setTimeout(() => {}, 86_400_000);
      AbortSignal.timeout(1_000_000);
      void timersPromises.setTimeout(86_400_000).then(() => Promise.reject(new Error("late")));
      return charging();
    };
    await crashReport(optionsFor(handle));
    await timersPromises.setImmediate();
    await expect.poll(added).toEqual([]);
    expect(rejections).not.toHaveBeenCalled();
  } finally {
    process.off("unhandledRejection", rejections);
  }
});

test("a rejection of another test reaches its listener, and none of a history does", async () => {
  const seen: unknown[] = [];
  const others = process.rawListeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  const listener = (error: unknown) => void seen.push(error);
  process.on("unhandledRejection", listener);
  try {
    const mine = new Error("of another test");
    const run = crashReport(
      optionsFor(() => {
        void Promise.reject(new Error("of a history"));
      }),
    );
    const later: unknown[] = [];
    const added = (error: unknown) => void later.push(error);
    process.on("unhandledRejection", added);
    void Promise.reject(mine);
    await run.catch(() => {});
    process.off("unhandledRejection", added);
    expect(seen).toEqual([mine]);
    expect(later).toEqual([mine]);
  } finally {
    process.off("unhandledRejection", listener);
    for (const other of others) process.on("unhandledRejection", other as () => void);
  }
});

test("fake timers of the runner do not stop a crash test", async () => {
  vi.useFakeTimers({ now: 0 });
  try {
    const { tried } = await crashTest(optionsFor(keyed));
    expect(tried[0]?.run).toBe(tried[0]?.of);
    expect(Date.now()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

const planted = (name: string) => {
  const found = mistakes.find((one) => one.name === name);
  if (!found) throw new Error(`No handler is named ${name}.`);
  return found;
};

test("crash tests at the same time have the reports that they have alone", async () => {
  const random = () => crypto.randomUUID().length * Math.random() * Date.now();
  const runs = [
    () => crashReport(optionsFor(charging)),
    () => crashReport(optionsFor(() => charging().finally(random))),
    () => reportOf(planted("insert without transaction"), { maxFaults: 1, faults: ["crash"] }),
    () => reportOf(planted("counter in memory"), { maxFaults: 1, faults: ["crash"] }),
    () => crashReport(optionsFor(() => charging().then(charging))),
  ];
  const alone: string[] = [];
  for (const run of runs) alone.push(JSON.stringify(await run()));
  const together = await Promise.all(runs.map(async (run) => JSON.stringify(await run())));
  expect(together).toEqual(alone);
});

test("one that fails while it waits for PostgreSQL leaves it to the one that uses it", async () => {
  const run = () =>
    reportOf(planted("insert without transaction"), { maxFaults: 1, faults: ["crash"] });
  const alone = JSON.stringify(await run());
  const failing = () =>
    crashReport({
      ...optionsFor(charging),
      prepare: ({ pool }) => {
        pool.query("create table orders (id int)").catch(() => {});
        return Promise.reject(new Error("planned"));
      },
    });
  const [first, failed, second] = await Promise.allSettled([run(), failing(), run()]);
  expect(failed).toMatchObject({ status: "rejected", reason: { cause: { message: "planned" } } });
  expect(
    [first, second].map((one) => one.status === "fulfilled" && JSON.stringify(one.value)),
  ).toEqual([alone, alone]);
});
