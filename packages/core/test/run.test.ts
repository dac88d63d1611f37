import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test, vi } from "vitest";
import {
  createReceiver,
  memoryStore,
  parseDelivery,
  PermanentError,
  serializeDelivery,
  type DeliveryContext,
  type DeliveryStore,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type SignalReason,
} from "../src/index.js";
import {
  bothWays,
  failsFirst,
  failsUnlessRun,
  gated,
  never,
  observed,
  pause,
  schemaBy,
  second,
  send,
  throwing,
  timed,
} from "./support.js";

/** Records the second of each call of `extend`. */
const noteExtends =
  (at: number[]) =>
  (store: DeliveryStore, clock: FakeClock): Partial<DeliveryStore> => {
    const startedAt = clock.now();
    return {
      extend(...call) {
        at.push((clock.now() - startedAt) / second);
        return store.extend(...call);
      },
    };
  };

const reasonOf = ({ signal }: DeliveryContext) => (signal.reason as SignalReason | undefined)?.code;

describe("a handler that exceeds its timeout", () => {
  test.each([
    ["1 ms", 1, { handlerTimeoutMs: 1 }],
    ["10 s, the default,", 10 * second, {}],
    ["25 s", 25 * second, { handlerTimeoutMs: 25 * second }],
  ])("of %s ends as handler_timeout at exactly that time", async (_, timeoutMs, options) => {
    const { receiver, clock, reports, contexts } = gated(options);
    const responding = send(receiver);
    await clock.advance(timeoutMs - 1);
    expect(reports).toEqual([]);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([false]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "handler_timeout", runMs: timeoutMs }]);
    expect(contexts.map(reasonOf)).toEqual(["handler_timeout"]);
    expect(contexts[0]?.signal.reason).toBeInstanceOf(Error);
    expect(await responding).toMatchObject({ status: 503, retryAfterMs: 5_000 });
  });

  test("keeps its lease until it settles, with an extension every third of leaseMs", async () => {
    const extendedAt: number[] = [];
    const { receiver, clock, finish } = gated({}, noteExtends(extendedAt));
    void send(receiver);
    await clock.advance(65 * second);
    expect(extendedAt).toEqual([10, 20, 30, 40, 50, 60]);
    expect((await send(receiver)).code).toBe("in_flight");
    await finish();
    await clock.advance(60 * second);
    expect(extendedAt).toHaveLength(6);
  });

  test("is processed once it resolves, with a second report, and every later copy is a duplicate", async () => {
    const { receiver, clock, reports, finish } = gated();
    const first = send(receiver);
    await clock.advance(40 * second);
    const { run, fence, deliveryId } = await first;
    await finish();
    const now = { code: "handler_timeout", runMs: 10 * second, totalMs: 10 * second };
    const later = { code: "processed", status: 200, runMs: 40 * second, totalMs: 40 * second };
    expect(reports).toMatchObject([
      { phase: "answered", ...now },
      { phase: "settled", ...later, deliveryId, run, fence, warnings: [] },
    ]);
    expect((await send(receiver)).code).toBe("duplicate");
    expect(clock.timers).toBe(0);
  });

  test("is released once it rejects, and the next attempt runs it again immediately", async () => {
    const { opened, fail } = gate();
    const { receiver, clock, reports, lines } = timed({
      on: { "*": (_, { run }) => (run === 1 ? opened : undefined) },
    });
    const first = send(receiver);
    await clock.advance(40 * second);
    expect((await first).code).toBe("handler_timeout");
    fail(new Error("late failure"));
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "handler_failed", status: 500 });
    expect(lines).toEqual([
      expect.stringContaining("handler_timeout"),
      "handler: Error: late failure",
    ]);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
    expect(clock.timers).toBe(0);
  });
});

describe("an ordinary run", () => {
  test("awaits a thenable once, although it settles twice and its then returns nothing", async () => {
    let calls = 0;
    const query = {
      // Query builders are thenable too.
      // oxlint-disable-next-line unicorn/no-thenable
      then(resolve: () => void) {
        calls += 1;
        queueMicrotask(resolve);
        queueMicrotask(resolve);
      },
    };
    const { receiver, reports } = observed({ on: { "*": () => query } });
    expect((await send(receiver)).code).toBe("processed");
    await settled();
    expect({ calls, reports: reports.length }).toEqual({ calls: 1, reports: 1 });
  });

  test("that is synchronous starts no timer", async () => {
    const { receiver, clock } = timed();
    const started = vi.spyOn(clock, "after");
    expect((await send(receiver)).code).toBe("processed");
    expect(started).not.toHaveBeenCalled();
  });

  test.each(["resolves", "rejects"])(
    "that %s leaves no timer and no second report",
    async (end) => {
      const { receiver, clock, reports, finish, fail } = gated();
      void send(receiver);
      await clock.advance(second);
      expect(clock.timers).toBe(1);
      await (end === "resolves" ? finish() : fail(new Error("no")));
      expect(clock.timers).toBe(0);
      await clock.advance(60 * second);
      expect(reports).toHaveLength(1);
    },
  );

  test("runs exactly one handler, the most specific one", async () => {
    const ran: string[] = [];
    const keys = ["*", "email.*", "email.sent"];
    const on = Object.fromEntries(keys.map((key) => [key, () => ran.push(key)]));
    await send(observed({ on }).receiver);
    expect(ran).toEqual(["email.sent"]);
  });
});

describe("a lease that is lost", () => {
  const refused = () => ({ extend: () => false });

  test("because extend returned false aborts the signal, and the handler is still recorded when it finishes", async () => {
    const { receiver, clock, reports, contexts, operations, finish } = gated(
      { handlerTimeoutMs: 25 * second },
      refused,
    );
    const responding = send(receiver);
    await clock.advance(10 * second - 1);
    expect(contexts.map(reasonOf)).toEqual([undefined]);
    await clock.advance(1);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost"]);
    await clock.advance(14 * second);
    await finish();
    expect(await responding).toMatchObject({ code: "processed", warnings: ["lease_lost"] });
    expect(operations()).toEqual(["claim", "extend", "complete"]);
    expect(reports).toHaveLength(1);
    expect((await send(receiver)).code).toBe("duplicate");
  });

  test("is not extended again, and does not delay the response beyond handlerTimeoutMs", async () => {
    const { receiver, clock, operations } = gated({ handlerTimeoutMs: 25 * second }, refused);
    const responding = send(receiver);
    await clock.advance(25 * second);
    expect(await responding).toMatchObject({ code: "handler_timeout", warnings: ["lease_lost"] });
    expect(clock.timers).toBe(0);
    await clock.advance(95 * second);
    expect(operations()).toEqual(["claim", "extend"]);
  });

  test("while a slow schema runs prevents the start of the handler", async () => {
    const { opened, open } = gate();
    const schema = schemaBy(() => opened.then(() => ({ value: {} })));
    const { receiver, clock, reports, contexts } = gated(
      { events: { "email.sent": schema } },
      refused,
    );
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect((await responding).code).toBe("handler_timeout");
    open();
    await settled();
    expect(reports.map(({ code }) => code)).toEqual(["handler_timeout", "handler_failed"]);
    expect(contexts).toEqual([]);
  });

  test("by a frozen process aborts the signal, and the run that takes over keeps its claim", async () => {
    const first = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver, clock, reports } = timed({
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return context.run === 1 ? first.opened : never();
        },
      },
    });
    const responding = send(receiver);
    await clock.advance(0);
    clock.jump(30 * second);
    void send(receiver);
    await clock.advance(0);
    expect(await responding).toMatchObject({ code: "handler_timeout" });
    expect(contexts.map(({ run }) => run)).toEqual([1, 2]);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost", undefined]);
    expect(reports[0]?.warnings).toContain("lease_lost");
    first.fail(new Error("stopped"));
    await settled();
    expect((await send(receiver)).code).toBe("in_flight");
  });

  test("because no extension succeeded ends exactly after leaseMs", async () => {
    const { receiver, clock, reports, finish } = gated({}, () => ({ extend: never }));
    void send(receiver);
    await clock.advance(30 * second - 1);
    expect((await send(receiver)).code).toBe("in_flight");
    await clock.advance(1);
    await finish();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", warnings: ["lease_lost"] });
  });

  test.each<["claim" | "extend", number]>([
    ["claim", 30 * second],
    ["extend", 40 * second],
  ])("by a slow %s is timed from when the call was sent", async (slow, lostAtMs) => {
    const settledAfter = async (ms: number) => {
      let extensions = 0;
      const { receiver, clock, reports, finish } = gated({}, (store, time) => ({
        claim: async (...call) => {
          if (slow === "claim") await pause(time, second);
          return store.claim(...call);
        },
        extend: async (...call) => {
          if (slow === "claim" || ++extensions > 1) return never();
          await pause(time, second);
          return store.extend(...call);
        },
      }));
      void send(receiver);
      await clock.advance(ms);
      await finish();
      return reports.at(-1);
    };
    const phase = "settled";
    expect(await settledAfter(lostAtMs - 1)).toMatchObject({ phase, warnings: [] });
    expect(await settledAfter(lostAtMs)).toMatchObject({ phase, warnings: ["lease_lost"] });
  });

  test("is not lost after one failed extension, because the next one keeps it", async () => {
    const { receiver, clock, reports, lines, finish } = gated({}, failsFirst(1, "extend"));
    void send(receiver);
    await clock.advance(45 * second);
    expect((await send(receiver)).code).toBe("in_flight");
    await finish();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed", warnings: [] });
    expect(lines).toContain(
      "svc-webhooks test: internal_error: store.extend failed: connection reset",
    );
  });

  test("by a frozen process is regained unless another run has claimed, and stays regained", async () => {
    const { receiver, clock, reports, contexts, finish } = gated();
    void send(receiver);
    await clock.advance(0);
    clock.jump(31 * second);
    await clock.advance(35 * second);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost"]);
    expect((await send(receiver)).code).toBe("in_flight");
    await finish();
    expect(reports.at(-1)).toMatchObject({
      code: "processed",
      warnings: ["lease_lost", "long_run"],
    });
    expect(contexts).toHaveLength(1);
  });

  test("is extended again until maxRunMs, through an outage longer than the lease", async () => {
    const { receiver, clock, operations } = gated({}, failsFirst(6, "extend"));
    void send(receiver);
    await clock.advance(70 * second);
    expect(operations()).toEqual(["claim", ...Array.from({ length: 7 }, () => "extend")]);
    expect((await send(receiver)).code).toBe("in_flight");
  });

  test.each<[string, (block: () => void) => void | Promise<void>]>([
    ["a synchronous handler", (block) => block()],
    ["an async handler", async (block) => block()],
  ])("by %s that blocks the event loop carries a warning", async (_, handler) => {
    const { receiver, clock } = timed({ on: { "*": () => handler(() => clock.jump(40_000)) } });
    expect(await send(receiver)).toMatchObject({ code: "processed", warnings: ["lease_lost"] });
  });
});

test("after maxRunMs the lease is not renewed, and the next copy takes over with a larger fence", async () => {
  const extendedAt: number[] = [];
  const { receiver, clock, contexts } = gated({ maxRunMs: 60 * second }, noteExtends(extendedAt));
  void send(receiver);
  await clock.advance(90 * second - 1);
  expect(extendedAt).toEqual([10, 20, 30, 40, 50, 60]);
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(1);
  expect(clock.timers).toBe(0);
  void send(receiver);
  await settled();
  expect(contexts).toHaveLength(2);
  expect(contexts[1]?.fence).toBeGreaterThan(Number(contexts[0]?.fence));
});

describe("a run", () => {
  /** Advances in steps of a renewal, and returns the lines with the second after which each was printed. */
  async function linesOf(run: ReturnType<typeof gated>, seconds: number): Promise<string[]> {
    const { clock, lines } = run;
    const at: string[] = [];
    for (let passed = 10; passed <= seconds; passed += 10) {
      await clock.advance(10 * second);
      at.push(...lines.splice(0).map((line) => `${passed} s: ${line.slice(0, 120)}`));
    }
    return at.filter((line) => line.includes("long_run"));
  }

  test("of more than a minute has a line at 60 s, at 5 min and at its last renewal", async () => {
    const run = gated();
    void send(run.receiver);
    const facts = '{"deliveryId":"dlv_1","type":"email.sent","run":1}';
    expect(await linesOf(run, 1_200)).toEqual(
      ["60 s: 60 s so far.", "300 s: 300 s so far.", "900 s: 900 s so far; last renewal"].map(
        (line) => {
          const [at, message] = line.split(": ");
          return expect.stringMatching(
            `^${at}: svc-webhooks test: long_run: ${facts} ${message}`,
          ) as string;
        },
      ),
    );
    await run.finish();
    expect(run.reports.at(-1)?.warnings).toEqual(["long_run", "lease_lost"]);
  });

  test("that settles within a minute has none", async () => {
    const run = gated();
    void send(run.receiver);
    expect(await linesOf(run, 50)).toEqual([]);
    await run.finish();
    expect(run.reports.at(-1)).toMatchObject({ code: "processed", warnings: [] });
  });

  test("has a line if the lease of the previous run ended without a result", async () => {
    const { receiver, clock, lines } = timed({
      on: { "*": (_, { run }) => (run === 1 ? never() : undefined) },
    });
    void send(receiver);
    await clock.advance(0);
    clock.jump(30 * second);
    expect(await send(receiver)).toMatchObject({ code: "processed", warnings: ["taken_over"] });
    expect(lines.filter((line) => line.includes("taken_over"))).toEqual([
      expect.stringContaining('"run":2} The previous run of this event'),
    ]);
  });

  test("after a failed one has none", async () => {
    const { receiver } = timed({ on: { "*": failsUnlessRun(2) } });
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2, warnings: [] });
  });
});

describe("a complete that fails", () => {
  test("still ends as a 200, and is retried until it succeeds", async () => {
    const { receiver, clock, lines, calls, operations } = timed({}, failsFirst(3, "complete"));
    expect(await send(receiver)).toMatchObject({
      code: "processed",
      status: 200,
      warnings: ["complete_failed"],
    });
    expect(lines).toEqual([expect.stringMatching(/ complete_failed: .*connection reset/)]);
    await clock.advance(10 * second);
    expect(operations()).toEqual(["claim", "complete", "complete", "complete", "complete"]);
    expect(new Set(calls.map(({ request }) => request.token)).size).toBe(1);
    expect(clock.timers).toBe(0);
    expect(lines).toHaveLength(1);
  });

  test("is retried until the lease ends, and then the event runs again", async () => {
    const { receiver, clock, calls } = timed({}, () => ({
      complete: throwing(new Error("read only")),
    }));
    expect((await send(receiver)).code).toBe("processed");
    await clock.advance(30 * second - 1);
    expect((await send(receiver)).code).toBe("in_flight");
    await clock.advance(second);
    expect(clock.timers).toBe(0);
    const completions = calls.filter(({ operation }) => operation === "complete").length;
    // The pauses are at most 0.5, 1, 2, 4, 8, 8 … s, and at least half of each.
    expect(completions).toBeGreaterThanOrEqual(7);
    expect(completions).toBeLessThanOrEqual(11);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
  });

  test("is retried for leaseMs after the lease was lost", async () => {
    const { receiver, clock, reports, finish } = gated({}, failsFirst(3, "complete"));
    void send(receiver);
    await clock.advance(0);
    clock.jump(31 * second);
    await finish();
    expect(reports.at(-1)).toMatchObject({ warnings: ["lease_lost", "complete_failed"] });
    await clock.advance(4 * second);
    expect((await send(receiver)).code).toBe("duplicate");
  });

  test("because it hangs is retried rarely, and not after it succeeds late", async () => {
    const { opened, open } = gate();
    let completions = 0;
    const { receiver, clock } = timed({}, (store) => ({
      async complete(...call) {
        completions += 1;
        await opened;
        return store.complete(...call);
      },
    }));
    void send(receiver);
    await clock.advance(25 * second);
    expect(completions).toBeLessThanOrEqual(3);
    open();
    await settled();
    expect((await send(receiver)).code).toBe("duplicate");
    await clock.advance(60 * second);
    expect(completions).toBeLessThanOrEqual(3);
  });

  test("because it hangs delays the response by two seconds and no longer", async () => {
    const { receiver, clock, reports } = timed({}, () => ({ complete: never }));
    void send(receiver);
    await clock.advance(2 * second - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "processed", warnings: ["complete_failed"] }]);
  });
});

test("a release that fails does not change the response, and attempts are refused until the lease ends", async () => {
  const { receiver, clock, lines } = timed({ on: { "*": failsUnlessRun(2) } }, () => ({
    release: () => Promise.reject(new Error("read only")),
  }));
  expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500, warnings: [] });
  expect(lines).toEqual([
    "handler: Error: no",
    "svc-webhooks test: internal_error: store.release failed: read only",
  ]);
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(30 * second);
  expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
});

const thrown = new Error("no");

const unreadable = new Proxy(
  {},
  {
    get(_target, name) {
      if (name === "then") return undefined;
      throw new Error(`no ${String(name)}`);
    },
  },
);

test.each(bothWays(thrown))(
  "onHandlerError receives the error of a handler that %s, with its context",
  async (_, handler) => {
    const seen: unknown[] = [];
    const { receiver } = observed({
      on: { "*": handler },
      onHandlerError: (error, { deliveryId, type, run }) =>
        seen.push({ same: error === thrown, deliveryId, type, run }),
    });
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(seen).toEqual([{ same: true, deliveryId: "dlv_1", type: "email.sent", run: 1 }]);
  },
);

describe("the context of a handler", () => {
  const body = eventBody("email.sent", { id: "evt_signed", to: "é" });
  const headers = {
    "X-SVC-Attempt": "3",
    "X-SVC-Subscription-Id": "sub_1",
    "X-SVC-Event-Id": "evt_header",
    "Idempotency-Key": '"dlv_1"',
    "Content-Type": "application/json",
    "X-Other": "left out",
  };

  test("contains all facts of its delivery", async () => {
    const runs: (readonly [unknown, DeliveryContext])[] = [];
    const { receiver, clock } = timed({
      secret: [
        { id: "new", key: "whsec_new" },
        { id: "old", key: secret },
      ],
      on: { "*": (...run) => runs.push(run) },
    });
    await send(receiver, body, headers);
    expect(runs.map(([event]) => event)).toEqual([
      { type: "email.sent", id: "evt_signed", to: "é" },
    ]);
    const [context] = runs.map(([, given]) => given);
    expect(context).toMatchObject({
      type: "email.sent",
      deliveryId: "dlv_1",
      subscriptionId: "sub_1",
      attempt: 3,
      eventId: "evt_header",
      eventIdSigned: false,
      run: 1,
      fence: clock.now(),
      secretId: "old",
      receivedAt: clock.now(),
      bodyBytes: Buffer.byteLength(body),
      warnings: ["old_secret"],
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
    });
    expect(context?.signal.aborted).toBe(false);
  });

  test("has the event id of the signed body if eventId returns one", async () => {
    const { receiver, reports } = observed({ eventId: ({ id }) => id as string });
    await send(receiver, body, headers);
    expect(reports).toMatchObject([{ eventId: "evt_signed", eventIdSigned: true }]);
  });

  test("leaves facts undefined that the request does not contain", async () => {
    const contexts: DeliveryContext[] = [];
    const { receiver } = observed({ on: { "*": (_, context) => contexts.push(context) } });
    await send(receiver, body, { "x-svc-attempt": "many" });
    const absent = { attempt: undefined, subscriptionId: undefined, eventId: undefined };
    expect(contexts).toMatchObject([{ secretId: "default", eventIdSigned: false, ...absent }]);
  });

  test("has a delivery that can be stored as JSON and, after forget, passed to receive() again", async () => {
    const contexts: DeliveryContext[] = [];
    const { receiver, store } = timed({ on: { "*": (_, context) => contexts.push(context) } });
    const first = await send(receiver, body, headers);
    const [{ delivery, idempotencyKey } = {}] = contexts;
    const text = delivery ? serializeDelivery(delivery) : "";
    expect(text).not.toContain("left out");
    const again = parseDelivery(text);
    expect((await receiver.receive(again)).code).toBe("duplicate");
    const { signal } = new AbortController();
    expect(await store.forget(idempotencyKey ?? "", { signal })).toBe(true);
    const { receivedAt, deliveryId, subscriptionId, attempt, eventId, bodyBytes } = first;
    const facts = { receivedAt, deliveryId, subscriptionId, attempt, eventId, bodyBytes };
    const outcome = await receiver.receive(again);
    expect(outcome).toMatchObject({ ...facts, code: "processed", warnings: [] });
    expect(contexts[1]?.delivery).toEqual(again);
  });
});

/** Options with a store in which `complete` or `release` waits for `opened`. */
function storing(operation: "complete" | "release", opened: Promise<void>) {
  const store = memoryStore();
  const waits = async (...call: Parameters<DeliveryStore["release"]>) => {
    await opened;
    return store[operation](...call);
  };
  return { store: { ...store, [operation]: waits } as DeliveryStore };
}

describe("waitUntil", () => {
  /** A `waitUntil` and the work that it received, in total and pending. */
  function background() {
    const works: Promise<unknown>[] = [];
    const pending = new Set<Promise<unknown>>();
    const waitUntil = (work: Promise<unknown>) => {
      works.push(work);
      pending.add(work);
      void work.then(() => pending.delete(work));
    };
    return { works, pending, waitUntil };
  }

  const receive = async (receiver: Receiver, waitUntil: (work: Promise<unknown>) => unknown) =>
    receiver.receive(await signed(), { waitUntil });

  test("receives the whole run once, at the claim, as a promise that is pending until the run has settled", async () => {
    const { works, pending, waitUntil } = background();
    const { receiver, clock, finish } = gated();
    const responding = receive(receiver, waitUntil);
    await clock.advance(0);
    expect(works).toHaveLength(1);
    await clock.advance(40 * second);
    expect((await responding).code).toBe("handler_timeout");
    expect(pending.size).toBe(1);
    await finish();
    expect(pending.size).toBe(0);
    expect(works).toHaveLength(1);
  });

  const permanent = new PermanentError("no such account");

  test.each<[string, (opened: Promise<void>) => Partial<ReceiverOptions>, Outcome["code"][]]>([
    [
      "complete after a synchronous handler",
      (opened) => storing("complete", opened),
      ["processed"],
    ],
    [
      "release after a handler that throws",
      (opened) => ({ ...storing("release", opened), on: { "*": throwing(new Error("no")) } }),
      ["handler_failed"],
    ],
    [
      "release after a schema that rejects",
      (opened) => ({
        ...storing("release", opened),
        events: { "email.sent": schemaBy(() => ({ issues: [{ message: "no" }] })) },
      }),
      ["event_invalid"],
    ],
    [
      "onParked",
      (opened) => ({ on: { "*": throwing(permanent) }, onParked: () => opened }),
      ["parked"],
    ],
    [
      "release after onParked",
      (opened) => ({
        ...storing("release", opened),
        on: { "*": throwing(permanent) },
        onParked: () => {},
      }),
      ["parked"],
    ],
    [
      "a handler that outlives handlerTimeoutMs",
      (opened) => ({ on: { "*": () => opened }, handlerTimeoutMs: 1 }),
      ["handler_timeout", "processed"],
    ],
  ])("receives %s, and drain counts the delivery", async (_, optionsWith, codes) => {
    const { opened, open } = gate();
    const { works, pending, waitUntil } = background();
    const clock = fakeClock();
    const { receiver, reports } = observed({ clock, ...optionsWith(opened) });
    const left = async () => {
      const draining = receiver.drain({ deadlineMs: 0 });
      await clock.advance(0);
      return draining;
    };

    const responding = receive(receiver, waitUntil);
    await clock.advance(1);
    expect([works.length, pending.size, await left()]).toEqual([1, 1, 1]);
    open();
    await settled();
    expect([works.length, pending.size, await left()]).toEqual([1, 0, 0]);
    expect((await responding).code).toBe(codes[0]);
    expect(reports.map(({ code }) => code)).toEqual(codes);
  });

  test.each([
    ["for a synchronous run", "processed", () => signed()],
    [
      "for a duplicate",
      "duplicate",
      () => signed(eventBody(), { "x-svc-delivery-id": "dlv_done" }),
    ],
    ["for an ignored event", "ignored", () => signed(eventBody("other"))],
    [
      "for a refused delivery",
      "signature_missing",
      () => signed(eventBody(), { "x-svc-signature": "" }),
    ],
  ])("is not called %s", async (_, code, delivery) => {
    const { works, waitUntil } = background();
    const { receiver } = observed({ on: { "email.sent": () => {} } });
    await send(receiver, eventBody(), { "x-svc-delivery-id": "dlv_done" });
    expect((await receiver.receive(await delivery(), { waitUntil })).code).toBe(code);
    expect(works).toEqual([]);
  });

  test("receives work that never rejects, even if the handler does", async () => {
    const { works, waitUntil } = background();
    const { receiver } = observed({ on: { "*": () => Promise.reject(new Error("no")) } });
    await receive(receiver, waitUntil);
    expect(await Promise.allSettled(works)).toMatchObject([{ status: "fulfilled" }]);
  });

  test("receives the retries of complete", async () => {
    const { pending, waitUntil } = background();
    const { receiver, clock } = timed({}, failsFirst(3, "complete"));
    await receive(receiver, waitUntil);
    await clock.advance(second);
    expect(pending.size).toBeGreaterThan(0);
    await clock.advance(3 * second);
    expect(pending.size).toBe(0);
  });

  test.each(bothWays(new Error("no background here")))(
    "that %s does not change the outcome",
    async (_, waitUntil) => {
      const { receiver, lines } = observed({ on: { "*": async () => {} } });
      const outcome = await receive(receiver, waitUntil);
      expect(outcome).toMatchObject({ code: "processed", warnings: [] });
      await settled();
      expect(lines).toEqual(["svc-webhooks test: internal_error: no background here"]);
    },
  );

  test("that cannot be read does not end the run before the handler", async () => {
    const { receiver, lines } = observed({ on: { "*": async () => {} } });
    const outcome = await receiver.receive(await signed(), {
      get waitUntil(): never {
        throw new Error("no background here");
      },
    });
    expect(outcome).toMatchObject({ code: "processed" });
    expect(lines).toEqual(["svc-webhooks test: internal_error: no background here"]);
  });
});

test("receivers built from the same options share nothing but their store", async () => {
  const build = () => createReceiver({ secret, on: { "*": () => {} } });
  expect((await send(build())).code).toBe("processed");
  expect((await send(build())).code).toBe("processed");
});

test("a handler that replaces the warnings in its context changes no outcome", async () => {
  const { receiver } = observed({
    on: { "*": (_, context) => Object.assign(context, { warnings: undefined }) },
  });
  expect(await send(receiver)).toMatchObject({ code: "processed", warnings: [] });
  expect(await receiver.drain({ deadlineMs: 0 })).toBe(0);
});

describe("a handler", () => {
  test("is called without this", async () => {
    const seen: unknown[] = [];
    const { receiver } = observed({
      on: {
        "*": function (this: unknown) {
          seen.push(this);
        },
      },
    });
    await send(receiver);
    expect(seen).toEqual([undefined]);
  });

  test.each<[string, () => unknown]>([
    // Users write generators without a yield by mistake.
    ["an async generator", async function* () {}],
    ["a generator", function* () {}],
    ["an iterator", () => [1].values()],
    ["a promise of a generator", async () => (async function* () {})()],
  ])("that returns %s fails, because its code has not run", async (_, handler) => {
    // The types reject it.
    const { receiver, lines, operations } = timed({ on: { "*": handler as () => undefined } });
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(operations()).toEqual(["claim", "release failed"]);
    expect(lines).toEqual([expect.stringContaining("must not return an iterator")]);
  });

  test.each<[string, string | object]>([
    ["a Map", new Map([[1, 2]])],
    ["an array", [1]],
    ["text", "done"],
    ["an object whose properties cannot be read", unreadable],
    ["a promise of such an object", Promise.resolve(unreadable)],
  ])("may return %s", async (_, value) => {
    const { receiver, operations } = timed({ on: { "*": () => value } });
    expect((await send(receiver)).code).toBe("processed");
    expect(operations()).toEqual(["claim", "complete"]);
  });
});
