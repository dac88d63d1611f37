import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { defineInbox, retryDelays, runJob, type InboxJob } from "../src/inbox.js";
import {
  createReceiver,
  memoryStore,
  PermanentError,
  RetryError,
  type DedupeBy,
  type DeliveryContext,
  type HandlerResult,
  type ReceiverOptions,
} from "../src/index.js";
import { second, throwing } from "./support.js";

/** A receiver with a queue: `accept` stores a delivery, and `work` runs the last job. */
function bench(
  handle: (event: unknown, context: DeliveryContext) => HandlerResult = () => {},
  options: Partial<ReceiverOptions> = {},
) {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const jobs: InboxJob[] = [];
  const runs: DeliveryContext[] = [];
  const inbox = defineInbox(
    async (job) => void jobs.push(JSON.parse(JSON.stringify(job)) as InboxJob),
  );
  const build = (more: Partial<ReceiverOptions> = {}) =>
    createReceiver({
      secret,
      name: "test",
      clock,
      store,
      log: () => {},
      onHandlerError: () => {},
      on: {
        "*": inbox((event, context) => {
          runs.push(context);
          return handle(event, context);
        }),
      },
      ...options,
      ...more,
    });
  const receiver = build();
  const accept = async (...delivery: Parameters<typeof signed>) =>
    (await receiver.receive(await signed(...delivery))).code;
  const work = (job: unknown = jobs.at(-1), more = receiver) => runJob(more, job, { clock });
  return { clock, store, jobs, runs, receiver, build, accept, work };
}

const retry = { action: "retry" };

describe("runJob", () => {
  test.each<[DedupeBy, Partial<ReceiverOptions>]>([
    ["delivery", {}],
    ["event", { dedupeBy: "event", eventId: ({ id }) => id as string }],
    ["body", { dedupeBy: "body" }],
  ])("runs the job of a delivery once, with dedupeBy %s", async (_, options) => {
    const { accept, work, runs, jobs } = bench(undefined, options);
    const body = eventBody("email.sent", { id: "evt_1" });
    expect(await accept(body)).toBe("enqueued");
    expect(await work()).toEqual({ action: "done", code: "processed" });
    expect(await work()).toEqual({ action: "done", code: "duplicate" });
    expect(runs).toMatchObject([{ run: 1, idempotencyKey: jobs[0]?.key }]);
  });

  test("retries a job whose type has no handler in this worker, which an older version may lack", async () => {
    const { accept, work, build, runs } = bench();
    await accept(eventBody("email.bounced"));
    const older = build({ on: { "email.sent": () => {} } });
    expect(await work(undefined, older)).toMatchObject({
      action: "retry",
      error: { code: "ignored" },
    });
    expect(await work()).toEqual({ action: "done", code: "processed" });
    expect(runs).toHaveLength(1);
  });

  test("stores a type that PostgreSQL cannot store, and the exact body", async () => {
    const { accept, work, jobs } = bench();
    await accept(String.raw`{"type":"email.\u0000\ud800\ud83d\ude00"}`);
    expect(jobs[0]).toMatchObject({ type: "email.\ufffd\ufffd\u{1f600}" });
    expect(await work()).toEqual({ action: "done", code: "processed" });
  });

  test.each([
    ["a byte order mark", "\uFEFF" + eventBody()],
    ["line separators", eventBody("email.sent", { text: "\u2028\u2029" })],
    ["an escaped NUL", eventBody("email.sent", { text: "\0" })],
    ["a lone surrogate", '{"type":"email.sent","text":"\\ud800"}'],
    ["duplicate keys", '{"type":"email.sent","type":"email.sent"}'],
    ["numbers beyond 2^53", '{"type":"email.sent","n":12345678901234567890}'],
    ["1 MiB", eventBody("email.sent", { text: "é".repeat(500_000) })],
  ])("passes the exact bytes to the handler: %s", async (_, body) => {
    const { accept, work, runs } = bench();
    expect(await accept(body)).toBe("enqueued");
    expect((await work()).action).toBe("done");
    expect(Buffer.from(runs[0]?.delivery.body ?? []).equals(Buffer.from(body))).toBe(true);
  });

  test.each([
    ["is not UTF-8", Uint8Array.of(0xff, 0x00, 0x7b)],
    ["contains a NUL", new TextEncoder().encode("a\0b")],
  ])("passes the exact bytes to the handler if the body %s", async (_, bytes) => {
    const scheme = {
      name: "binary",
      headers: [],
      form: "none",
      inspect: () => ({ claim: "" }),
      importKey: () => ({ verify: () => true }),
      identify: () => ({ deliveryId: "dlv_1", body: { type: "binary" } }),
    };
    const { receiver, jobs, work, runs } = bench(undefined, { scheme });
    const outcome = await receiver.receive({ method: "POST", headers: {}, body: bytes });
    expect(outcome.code).toBe("enqueued");
    expect(jobs).toMatchObject([{ base64: true }]);
    expect(await work()).toEqual({ action: "done", code: "processed" });
    expect(runs[0]?.delivery.body).toEqual(bytes);
  });

  test("waits while another run holds the lease, and spends no attempt on it", async () => {
    let end!: () => void;
    const { accept, work, clock, runs } = bench(() =>
      runs.length === 1 ? new Promise<void>((resolve) => (end = resolve)) : undefined,
    );
    await accept();
    const [first, second_] = [work(), work()];
    await clock.advance(20 * second);
    expect(runs).toHaveLength(1);
    end();
    await clock.advance(10 * second);
    expect(await first).toEqual({ action: "done", code: "processed" });
    expect(await second_).toEqual({ action: "done", code: "duplicate" });
  });

  test("waits while the store is unavailable", async () => {
    const { store, accept, work, clock, runs } = bench();
    await accept();
    const claim = store.claim.bind(store);
    store.claim = () => Promise.reject(new Error("ECONNREFUSED"));
    const verdict = work();
    await clock.advance(600 * second);
    expect(runs).toEqual([]);
    store.claim = claim;
    await clock.advance(5 * second);
    expect(await verdict).toEqual({ action: "done", code: "processed" });
  });

  test("ends the wait when its signal is aborted, before or during it", async () => {
    const { store, accept, jobs, receiver, clock } = bench();
    await accept();
    store.claim = () => Promise.reject(new Error("ECONNREFUSED"));
    const stopping = new AbortController();
    const during = runJob(receiver, jobs[0], { clock, signal: stopping.signal });
    await settled();
    stopping.abort();
    const before = await runJob(receiver, jobs[0], { clock, signal: stopping.signal });
    for (const verdict of [await during, before]) {
      expect(verdict).toMatchObject({
        action: "retry",
        error: { code: "store_unavailable" },
        isUnused: true,
      });
      expect(verdict).not.toHaveProperty("afterMs");
    }
  });

  test.each<[string, unknown, object]>([
    ["retries an error of the handler", new Error("no"), retry],
    [
      "retries after the time of a RetryError",
      new RetryError({ retryAfterMs: 90_000 }),
      { action: "retry", afterMs: 90_000 },
    ],
    [
      "retries after a day if a RetryError has a time instead of a pause",
      new RetryError({ retryAfterMs: 1_900_000_000_000 }),
      { action: "retry", afterMs: 86_400_000 },
    ],
    [
      "retries immediately after a negative time",
      new RetryError({ retryAfterMs: -1 }),
      { action: "retry", afterMs: 0 },
    ],
    [
      "retries by the schedule of the queue after NaN",
      new RetryError({ retryAfterMs: NaN }),
      retry,
    ],
    [
      "retries by the schedule of the queue after an infinite time",
      new RetryError({ retryAfterMs: Infinity }),
      retry,
    ],
    ["buries an event that can never succeed", new PermanentError("no"), { action: "dead" }],
  ])("%s", async (_, error, verdict) => {
    const { accept, work } = bench(throwing(error));
    await accept();
    expect(await work()).toEqual({ ...verdict, error });
  });

  test("buries an event after maxRuns, and runs it again when it is released", async () => {
    let isBroken = true;
    const { accept, work, runs } = bench(
      () => (isBroken ? Promise.reject(new Error("no")) : undefined),
      { maxRuns: 2 },
    );
    await accept();
    const actions = [await work(), await work(), await work()].map(({ action }) => action);
    expect(actions).toEqual(["retry", "retry", "dead"]);
    isBroken = false;
    expect(await work()).toEqual({ action: "done", code: "processed" });
    expect(runs.map(({ run }) => run)).toEqual([1, 2, 1]);
  });

  describe("with the number of the attempt", () => {
    const of = retryDelays({ limit: 2, firstMs: 1_000, mostMs: 1_000 });
    const failing = () => Promise.reject(new Error("no"));

    test("states the delay after each attempt but the last, which buries the event", async () => {
      const { accept, jobs, receiver, clock, runs } = bench(failing, { maxRuns: 2 });
      await accept();
      const attempt = (number: number) =>
        runJob(receiver, jobs[0], { clock, attempt: { number, of } });
      const first = await attempt(1);
      expect(first).toMatchObject({ action: "retry", error: { message: "no" } });
      const { afterMs = 0 } = first as { readonly afterMs?: number };
      expect(afterMs).toBeGreaterThanOrEqual(500);
      expect(afterMs).toBeLessThanOrEqual(1_000);
      expect(await attempt(2)).toMatchObject({ action: "dead", error: { message: "no" } });
      // Its letter is retried: all attempts again, although the receiver limits its runs.
      expect(await attempt(1)).toMatchObject({ action: "retry" });
      expect(await attempt(2)).toMatchObject({ action: "dead", error: { message: "no" } });
      expect(runs.map(({ run }) => run)).toEqual([1, 2, 1, 2]);
    });

    test("takes an event from a last attempt that left no result, without a run", async () => {
      const frozen = gate();
      const { accept, jobs, store, build, clock, runs } = bench(() => frozen.opened);
      await accept();
      const owner = build({ store: { ...store, extend: () => false } });
      const last = runJob(owner, jobs[0], { clock, attempt: { number: 2, of } });
      await settled();
      const next = runJob(build(), jobs[0], { clock, attempt: { number: 3, of } });
      await clock.advance(60 * second);
      expect(await next).toMatchObject({
        action: "dead",
        error: { message: "The last attempt of this event left no result." },
      });
      expect(
        await store.peek?.([jobs[0]?.key ?? ""], { signal: new AbortController().signal }),
      ).toEqual(["parked"]);
      frozen.open();
      expect(await last).toMatchObject({ action: "done" });
      expect(runs).toHaveLength(1);
      expect(runs[0]?.signal.aborted).toBe(true);
    });
  });

  test("retries events that the options of today refuse", async () => {
    const { accept, work, build } = bench();
    await accept();
    const schema = {
      version: 1,
      vendor: "test",
      validate: () => ({ issues: [{ message: "no" }] }),
    } as const;
    const strict = build({ events: { "email.sent": { "~standard": schema } } });
    expect(await work(undefined, strict)).toMatchObject({
      action: "retry",
      error: { message: ": no" },
    });
    const untyped = build({ eventType: () => undefined });
    expect(await work(undefined, untyped)).toMatchObject({
      action: "retry",
      error: { code: "event_untyped" },
    });
  });

  test("retries while the receiver drains", async () => {
    const { accept, work, receiver } = bench(() => new Promise(() => {}));
    await accept();
    void work();
    await settled();
    void receiver.drain({ deadlineMs: 60 * second });
    expect(await work()).toMatchObject({
      action: "retry",
      error: { code: "draining" },
      isUnused: true,
    });
  });

  test("buries a job of a receiver with another name, before its handler runs", async () => {
    const { accept, work, build, runs } = bench();
    await accept();
    expect(await work(undefined, build({ name: "other" }))).toMatchObject({
      action: "dead",
      error: {
        code: "permanent_error",
        message: expect.stringMatching(/another name or dedupeBy: give both the same `name`/),
      },
    });
    expect(runs).toEqual([]);
  });

  test.each<[string, (job: InboxJob) => unknown]>([
    ["has another delivery id", (job) => ({ ...job, headers: { "x-svc-delivery-id": "dlv_2" } })],
    ["has another key", (job) => ({ ...job, key: "0".repeat(32) })],
    ["has no key", (job) => ({ ...job, key: undefined })],
    ["is of a later version", (job) => ({ ...job, v: 2 })],
    ["has no body", (job) => ({ ...job, body: undefined })],
    ["has a list of headers", (job) => ({ ...job, headers: [] })],
    ["has no headers", (job) => ({ ...job, headers: null })],
    ["has a number as a header", (job) => ({ ...job, headers: { ...job.headers, a: 1 } })],
    [
      "has a header without text",
      (job) => ({ ...job, headers: { ...job.headers, "x-svc-delivery-id": null } }),
    ],
    ["has invalid base64", (job) => ({ ...job, base64: true })],
    ["is text", (job) => JSON.stringify(job)],
    ["is null", () => null],
    ["is undefined", () => undefined],
  ])("buries a job that %s, and never rejects", async (_, tamper) => {
    const { accept, jobs, runs, receiver, clock } = bench();
    await accept();
    const verdict = await runJob(receiver, tamper(jobs[0] as InboxJob), { clock });
    expect(verdict).toMatchObject({ action: "dead", error: { message: expect.any(String) } });
    expect(runs).toEqual([]);
  });
});

describe("wrong options of runJob", () => {
  const of = retryDelays();
  test.each<[string, unknown, string]>([
    ["an unknown one", { attempts: 3 }, "attempts"],
    ["no delays", { attempt: { number: 1 } }, "attempt.of"],
    ["other delays", { attempt: { number: 1, of: { limit: 3 } } }, "attempt.of"],
    ["the attempt 0", { attempt: { number: 0, of } }, "attempt.number"],
    ["an attempt that is no number", { attempt: { number: Number.NaN, of } }, "attempt.number"],
  ])("are refused: %s", async (_what, options, option) => {
    const { receiver, accept, jobs } = bench();
    await accept();
    await expect(runJob(receiver, jobs[0], options as object)).rejects.toMatchObject({ option });
  });
});

test("an error that throws whatever is read of it is the failure of its attempt", async () => {
  const hostile: object = new Proxy(Object.create(null) as object, {
    get() {
      throw hostile;
    },
    getPrototypeOf() {
      throw hostile;
    },
  });
  const retryError = Object.defineProperty(new RetryError({ retryAfterMs: 5 }), "retryAfterMs", {
    get() {
      throw hostile;
    },
  });
  for (const error of [hostile, retryError]) {
    const { accept, work } = bench(throwing(error));
    await accept();
    expect(await work()).toMatchObject(retry);
  }
});

test.each([undefined, 5, {}])("a queue of %j is refused when it is made", (enqueue) => {
  expect(() => defineInbox(enqueue as never)).toThrow(
    expect.objectContaining({ code: "invalid_option", option: "enqueue" }),
  );
});
