import {
  createReceiver,
  memoryStore,
  RetryError,
  type Handler,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { describe, expect, test } from "vitest";
import { memoryInbox, type MemoryInboxOptions } from "../src/inbox.js";
import { fakeClock, fixture, signedDelivery } from "../src/index.js";

/** A receiver whose events run from an inbox in memory. */
function bench(
  handler: Handler = () => {},
  options: MemoryInboxOptions = {},
  more: Partial<ReceiverOptions> = {},
) {
  const clock = fakeClock();
  const inbox = memoryInbox({ clock, ...options });
  const store = memoryStore({ clock });
  const receiver = createReceiver({
    secret: "whsec_test",
    clock,
    store,
    on: { "*": inbox(handler) },
    log: () => {},
    ...more,
  });
  let events = 0;
  const accept = async (overrides = {}) => {
    events += 1;
    return receiver.receive(await signedDelivery(fixture("email.sent", overrides, events)));
  };
  const run = async () => (await inbox.run(receiver)).map(({ action }) => action);
  const facts = () => inbox.jobs().map(({ state, attempts }) => ({ state, attempts }));
  return { clock, inbox, store, receiver, accept, run, facts };
}

const failing = () => {
  throw new Error("no");
};
const never = () => new Promise<never>(() => {});

describe("run", () => {
  test("runs what can run now, oldest first, and returns the verdicts", async () => {
    const ids: unknown[] = [];
    const { accept, inbox, receiver } = bench(({ event_id }) => void ids.push(event_id));
    expect(await accept()).toMatchObject({ code: "enqueued" });
    await accept();
    expect(inbox.jobs()).toMatchObject([
      { state: "ready", type: "email.sent" },
      { state: "ready" },
    ]);
    const done = { action: "done", code: "processed" };
    expect(await inbox.run(receiver)).toEqual([done, done]);
    expect(ids).toEqual(["evt_email_sent_1", "evt_email_sent_2"]);
    expect(inbox.jobs()).toEqual([]);
    expect(await inbox.run(receiver)).toEqual([]);
  });

  test("retries after pauses that double up to the longest, until the limit", async () => {
    const retry = { limit: 4, firstMs: 1_000, mostMs: 3_000 };
    const { accept, run, clock, facts, inbox } = bench(failing, { retry });
    await accept();
    for (const [index, pauseMs] of [1_000, 2_000, 3_000].entries()) {
      expect(await run()).toEqual(["retry"]);
      expect(facts()).toEqual([{ state: "delayed", attempts: index + 1 }]);
      await clock.advance(pauseMs - 1);
      expect(await run()).toEqual([]);
      await clock.advance(1);
    }
    expect(await run()).toEqual(["dead"]);
    expect(inbox.jobs()).toMatchObject([{ state: "dead", attempts: 4, error: "no" }]);
    await clock.advance(600_000);
    expect(await run()).toEqual([]);
  });

  test("by default, makes 20 attempts within two hours", async () => {
    const { accept, run, clock, facts } = bench(failing);
    await accept();
    let ms = 0;
    for (; facts()[0]?.state !== "dead"; ms += 1_000) {
      await run();
      clock.jump(1_000);
    }
    expect(facts()).toEqual([{ state: "dead", attempts: 20 }]);
    expect(ms / 3_600_000).toBeGreaterThan(1.5);
    expect(ms / 3_600_000).toBeLessThan(2.5);
  });

  test("retries after the time of a RetryError", async () => {
    const { accept, run, clock } = bench(() => {
      throw new RetryError({ retryAfterMs: 90_000 });
    });
    await accept();
    await run();
    await clock.advance(89_999);
    expect(await run()).toEqual([]);
    await clock.advance(1);
    expect(await run()).toEqual(["retry"]);
  });

  test("runs the events of a key that were waiting behind each other", async () => {
    const { accept, run } = bench(undefined, { partitionBy: () => "a" });
    await accept();
    await accept();
    expect(await run()).toEqual(["done", "done"]);
  });
});

describe("work", () => {
  test("runs jobs as soon as they can run, up to its concurrency", async () => {
    const ends: (() => void)[] = [];
    const { accept, inbox, receiver, clock } = bench(
      () => new Promise<void>((resolve) => ends.push(resolve)),
    );
    await inbox.work(receiver, { concurrency: 2 });
    for (let n = 0; n < 3; n += 1) await accept();
    await clock.advance(0);
    expect(ends).toHaveLength(2);
    ends[0]?.();
    await clock.advance(0);
    expect(ends).toHaveLength(3);
  });

  test("retries when the time has come", async () => {
    let runs = 0;
    const { accept, inbox, receiver, clock } = bench(() => {
      runs += 1;
      if (runs === 1) throw new Error("no");
    });
    await inbox.work(receiver);
    await accept();
    await clock.advance(999);
    expect(runs).toBe(1);
    await clock.advance(1);
    expect(runs).toBe(2);
    expect(inbox.jobs()).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("stop gives back what still runs after its deadline, and its result does not count", async () => {
    let fail!: (error: Error) => void;
    const { accept, inbox, receiver, clock, facts } = bench(
      () => new Promise<void>((_resolve, reject) => (fail = reject)),
    );
    const worker = await inbox.work(receiver);
    await accept();
    await clock.advance(0);
    const stopping = worker.stop({ deadlineMs: 5_000 });
    await clock.advance(4_999);
    expect(facts()).toEqual([{ state: "active", attempts: 0 }]);
    await clock.advance(1);
    await stopping;
    expect(facts()).toEqual([{ state: "ready", attempts: 0 }]);
    fail(new Error("no"));
    await clock.advance(0);
    expect(facts()).toEqual([{ state: "ready", attempts: 0 }]);
  });

  test("stop ends the wait for the store, and spends no attempt on it", async () => {
    const { accept, inbox, receiver, store, clock, facts } = bench();
    store.claim = () => Promise.reject(new Error("ECONNREFUSED"));
    const worker = await inbox.work(receiver);
    await accept();
    await clock.advance(0);
    await worker.stop({ deadlineMs: 5_000 });
    expect(facts()).toEqual([{ state: "ready", attempts: 0 }]);
    expect(clock.timers).toBe(0);
  });

  test("works in real time by default", async () => {
    const inbox = memoryInbox({ retry: { firstMs: 1 } });
    const runs: number[] = [];
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const receiver = createReceiver({
      secret: "whsec_test",
      on: {
        "*": inbox((_event, { run = 0 }) => {
          runs.push(run);
          if (run === 1) throw new Error("no");
          end();
        }),
      },
      log: () => {},
      onHandlerError: () => {},
    });
    const worker = await inbox.work(receiver);
    await receiver.receive(await signedDelivery({ type: "email.sent" }));
    await ended;
    await worker.stop({ deadlineMs: 60_000 });
    expect(runs).toEqual([1, 2]);
    expect(inbox.jobs()).toEqual([]);
  });
});

test("the data of a job are copied when it is stored", async () => {
  const { inbox } = bench();
  const data = { v: 1, key: "a", type: "email.sent", headers: {}, body: "before" };
  await inbox.add(data);
  data.body = "after";
  expect(Buffer.from(inbox.jobs()[0]?.body() ?? []).toString()).toBe("before");
});

test("a body that is base64 is decoded for operators", async () => {
  const { inbox } = bench();
  await inbox.add({ key: "a", body: "/wB7", base64: true });
  expect((await inbox.admin.get("a"))?.body()).toEqual(Uint8Array.of(0xff, 0x00, 0x7b));
});

test("data that no inbox made is a dead letter", async () => {
  const { inbox, run } = bench();
  await inbox.add({ hello: "world" });
  expect(await run()).toEqual(["dead"]);
  expect(inbox.jobs()).toMatchObject([{ key: "", error: expect.stringContaining("inbox job") }]);
});

test("an error that is not an Error is kept as text", async () => {
  const { accept, run, inbox } = bench(() => {
    throw Object.create(null);
  });
  await accept();
  await run();
  expect(inbox.jobs()[0]?.error).toBe("The error cannot be read.");
});

test.each([
  ["returns a number", () => 5 as never],
  ["throws", failing],
])("a partitionBy that %s refuses the delivery", async (_, partitionBy) => {
  const { accept, inbox } = bench(undefined, { partitionBy });
  expect(await accept()).toMatchObject({ code: "queue_unavailable" });
  expect(inbox.jobs()).toEqual([]);
});

test("heldKeys is absent without order", async () => {
  const { inbox } = bench();
  expect(await inbox.admin.stats()).not.toHaveProperty("heldKeys");
});

test("no key is held if later events run after a dead letter", async () => {
  const { accept, run, inbox } = bench(failing, { partitionBy: () => "a", retry: { limit: 1 } });
  await accept();
  await run();
  await accept();
  expect(await inbox.admin.stats()).toMatchObject({ ready: 1, dead: 1, heldKeys: 0 });
});

test("a key without waiting events is not held", async () => {
  const partitionBy = () => "a";
  const { accept, run, inbox } = bench(failing, {
    partitionBy,
    afterDead: "hold",
    retry: { limit: 1 },
  });
  await accept();
  await run();
  expect(await inbox.admin.stats()).toMatchObject({ dead: 1, heldKeys: 0 });
  await accept();
  expect(await inbox.admin.stats()).toMatchObject({ dead: 1, heldKeys: 1 });
});

test.each<[string, unknown, string, string]>([
  ["no object", "x", "invalid_option", "options"],
  ["a misspelt option", { partition: () => "a" }, "unknown_option", "partition"],
  ["a partitionBy that is no function", { partitionBy: "id" }, "invalid_option", "partitionBy"],
  ["an unknown afterDead", { afterDead: "stop" }, "invalid_option", "afterDead"],
  ["hold without order", { afterDead: "hold" }, "invalid_option", "afterDead"],
  ["a misspelt member of retry", { retry: { limits: 3 } }, "unknown_option", "retry.limits"],
  ["no attempts", { retry: { limit: 0 } }, "invalid_option", "retry.limit"],
  ["no pause", { retry: { firstMs: 0 } }, "invalid_option", "retry.firstMs"],
  ["a longest pause below the first", { retry: { mostMs: 1 } }, "invalid_option", "retry.mostMs"],
])("memoryInbox refuses %s", (_, options, code, option) => {
  expect(() => memoryInbox(options as MemoryInboxOptions)).toThrow(
    expect.objectContaining({ code, option }),
  );
});

test("the text for a retry that is no object asks for one", () => {
  expect(() => memoryInbox({ retry: 5 as never })).toThrow(
    "`retry` is a number. Pass an options object.",
  );
});

test("work refuses invalid options", async () => {
  const { inbox, receiver } = bench(never);
  const invalid = (code: string, option: string) => expect.objectContaining({ code, option });
  await expect(inbox.work(receiver, { concurrency: 0 })).rejects.toThrow(
    invalid("invalid_option", "concurrency"),
  );
  await expect(inbox.work(receiver, { count: 1 } as never)).rejects.toThrow(
    invalid("unknown_option", "count"),
  );
});
