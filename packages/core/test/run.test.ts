import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test, vi } from "vitest";
import {
  createReceiver,
  type DeliveryContext,
  type DeliveryStore,
  type SignalReason,
  type StoredDelivery,
} from "../src/index.js";
import {
  never,
  noting,
  observed,
  operationsOf,
  pause,
  schemaBy,
  send,
  timed,
  type NotedCall,
} from "./support.js";

const second = 1_000;

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
  test.each([1, 10_000, 25_000])(
    "of %i ms ends as handler_timeout at exactly that time",
    async (handlerTimeoutMs) => {
      const { receiver, clock } = timed({ handlerTimeoutMs, on: { "*": never } });
      let code: string | undefined;
      const responding = send(receiver).then((outcome) => {
        ({ code } = outcome);
        return outcome;
      });
      await clock.advance(handlerTimeoutMs - 1);
      expect(code).toBeUndefined();
      await clock.advance(1);
      expect(await responding).toMatchObject({
        code: "handler_timeout",
        status: 503,
        retryAfterMs: 5_000,
      });
    },
  );

  test("has a default timeout of ten seconds", async () => {
    const { receiver, clock, reports } = timed({ on: { "*": never } });
    void send(receiver);
    await clock.advance(10 * second);
    expect(reports).toMatchObject([{ code: "handler_timeout", runMs: 10 * second }]);
  });

  test("has its signal aborted with handler_timeout", async () => {
    let context: DeliveryContext | undefined;
    const { receiver, clock } = timed({
      on: {
        "*": (_, given) => {
          context = given;
          return never();
        },
      },
    });
    void send(receiver);
    await clock.advance(10 * second - 1);
    expect(context?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(context && reasonOf(context)).toBe("handler_timeout");
    expect(context?.signal.reason).toBeInstanceOf(Error);
  });

  test("keeps its lease until it settles, with an extension every third of leaseMs", async () => {
    const { opened, open } = gate();
    const extendedAt: number[] = [];
    const { receiver, clock } = timed({ on: { "*": () => opened } }, noteExtends(extendedAt));
    void send(receiver);
    await clock.advance(65 * second);
    expect(extendedAt).toEqual([10, 20, 30, 40, 50, 60]);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    await clock.advance(60 * second);
    expect(extendedAt).toHaveLength(6);
  });

  test("is processed once it resolves, with a second report, and every later copy is a duplicate", async () => {
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({ on: { "*": () => opened } });
    const first = send(receiver);
    await clock.advance(40 * second);
    const { run, fence } = await first;
    open();
    await settled();
    expect(reports).toMatchObject([
      { phase: "answered", code: "handler_timeout", runMs: 10 * second, totalMs: 10 * second },
      {
        phase: "settled",
        code: "processed",
        status: 200,
        deliveryId: "dlv_1",
        run,
        fence,
        warnings: [],
        runMs: 40 * second,
        totalMs: 40 * second,
      },
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
    expect(lines).toEqual(["handler: Error: late failure"]);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
    expect(clock.timers).toBe(0);
  });
});

describe("an ordinary run", () => {
  test("awaits a thenable once, although it settles twice and its then returns nothing", async () => {
    let calls = 0;
    const query = {
      // As query builders do.
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
      const { opened, open, fail } = gate();
      const { receiver, clock, reports } = timed({ on: { "*": () => opened } });
      const responding = send(receiver);
      await clock.advance(second);
      expect(clock.timers).toBe(1);
      if (end === "resolves") open();
      else fail(new Error("no"));
      await responding;
      expect(clock.timers).toBe(0);
      await clock.advance(60 * second);
      expect(reports).toHaveLength(1);
    },
  );

  test("runs exactly one handler, the most specific one", async () => {
    const ran: string[] = [];
    const { receiver } = observed({
      on: {
        "email.sent": () => ran.push("email.sent"),
        "email.*": () => ran.push("email.*"),
        "*": () => ran.push("*"),
      },
    });
    await send(receiver);
    expect(ran).toEqual(["email.sent"]);
  });
});

describe("a lease that is lost", () => {
  test("because extend returned false aborts the signal, and the handler is still recorded when it finishes", async () => {
    const contexts: DeliveryContext[] = [];
    const calls: string[] = [];
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed(
      {
        handlerTimeoutMs: 25 * second,
        on: {
          "*": (_, context) => {
            contexts.push(context);
            return opened;
          },
        },
      },
      (store) => ({
        extend: () => {
          calls.push("extend");
          return false;
        },
        complete: (...call) => {
          calls.push("complete");
          return store.complete(...call);
        },
      }),
    );
    const responding = send(receiver);
    await clock.advance(10 * second - 1);
    expect(contexts.map(reasonOf)).toEqual([undefined]);
    await clock.advance(1);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost"]);
    await clock.advance(14 * second);
    open();
    expect(await responding).toMatchObject({ code: "processed", warnings: ["lease_lost"] });
    expect(calls).toEqual(["extend", "complete"]);
    expect(reports).toHaveLength(1);
    expect((await send(receiver)).code).toBe("duplicate");
  });

  test("while a slow schema runs prevents the start of the handler", async () => {
    let runs = 0;
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed(
      {
        events: { "email.sent": schemaBy(() => opened.then(() => ({ value: {} }))) },
        on: { "*": () => (runs += 1) },
      },
      () => ({ extend: () => false }),
    );
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect((await responding).code).toBe("handler_timeout");
    open();
    await settled();
    expect(reports.map(({ code }) => code)).toEqual(["handler_timeout", "handler_failed"]);
    expect(runs).toBe(0);
  });

  test("does not delay the response beyond handlerTimeoutMs", async () => {
    const { receiver, clock } = timed(
      { handlerTimeoutMs: 25 * second, on: { "*": never } },
      () => ({
        extend: () => false,
      }),
    );
    const responding = send(receiver);
    await clock.advance(25 * second);
    expect(await responding).toMatchObject({ code: "handler_timeout", warnings: ["lease_lost"] });
    expect(clock.timers).toBe(0);
  });

  test("by a frozen process aborts the signal, and another run takes over", async () => {
    const contexts: DeliveryContext[] = [];
    const { receiver, clock, reports } = timed({
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return never();
        },
      },
    });
    const first = send(receiver);
    await clock.advance(0);
    clock.jump(30 * second);
    void send(receiver);
    await clock.advance(0);
    expect(await first).toMatchObject({ code: "handler_timeout" });
    expect(contexts.map(({ run }) => run)).toEqual([1, 2]);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost", undefined]);
    expect(reports[0]?.warnings).toContain("lease_lost");
  });

  test("because no extension succeeded ends exactly after leaseMs", async () => {
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({ on: { "*": () => opened } }, () => ({
      extend: never,
    }));
    void send(receiver);
    await clock.advance(30 * second - 1);
    expect((await send(receiver)).code).toBe("in_flight");
    await clock.advance(1);
    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", warnings: ["lease_lost"] });
  });

  test.each<["claim" | "extend", number]>([
    ["claim", 30 * second],
    ["extend", 40 * second],
  ])("by a slow %s is timed from when the call was sent", async (slow, lostAtMs) => {
    const settledAfter = async (ms: number) => {
      const { opened, open } = gate();
      let extensions = 0;
      const { receiver, clock, reports } = timed({ on: { "*": () => opened } }, (store, time) => ({
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
      open();
      await settled();
      return reports.at(-1);
    };
    expect(await settledAfter(lostAtMs - 1)).toMatchObject({ phase: "settled", warnings: [] });
    expect(await settledAfter(lostAtMs)).toMatchObject({
      phase: "settled",
      warnings: ["lease_lost"],
    });
  });

  test("is not lost after one failed extension, because the next one keeps it", async () => {
    const { opened, open } = gate();
    let extensions = 0;
    const { receiver, clock, reports, lines } = timed({ on: { "*": () => opened } }, (store) => ({
      extend(...call) {
        if (++extensions === 1) throw new Error("connection reset");
        return store.extend(...call);
      },
    }));
    void send(receiver);
    await clock.advance(45 * second);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed", warnings: [] });
    expect(lines).toEqual(["svc-webhooks internal error: connection reset"]);
  });

  test("by a frozen process is regained unless another run has claimed, and stays regained", async () => {
    const { opened, open } = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver, clock, reports } = timed({
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return opened;
        },
      },
    });
    void send(receiver);
    await clock.advance(0);
    clock.jump(31 * second);
    await clock.advance(35 * second);
    expect(contexts.map(reasonOf)).toEqual(["lease_lost"]);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({
      phase: "settled",
      code: "processed",
      warnings: ["lease_lost"],
    });
    expect(contexts).toHaveLength(1);
  });

  test("is extended again until maxRunMs, through an outage longer than the lease", async () => {
    let isDown = true;
    let extensions = 0;
    const { opened, open } = gate();
    const { receiver, clock } = timed({ on: { "*": () => opened } }, (store) => ({
      extend(...call) {
        extensions += 1;
        if (isDown) throw new Error("connection refused");
        return store.extend(...call);
      },
    }));
    void send(receiver);
    await clock.advance(60 * second);
    isDown = false;
    await clock.advance(10 * second);
    expect(extensions).toBe(7);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    await settled();
  });

  test("is not extended again after one refusal", async () => {
    const calls: NotedCall[] = [];
    const { receiver, clock } = timed({ on: { "*": never } }, (store) =>
      noting(calls, { ...store, extend: () => false }),
    );
    void send(receiver);
    await clock.advance(120 * second);
    expect(operationsOf(calls)).toEqual(["claim", "extend"]);
    expect(clock.timers).toBe(0);
  });

  test.each<[string, (block: () => void) => void | Promise<void>]>([
    ["a synchronous handler", (block) => block()],
    ["an async handler", async (block) => block()],
  ])("by %s that blocks the event loop carries a warning", async (_, handler) => {
    const { receiver, clock } = timed({ on: { "*": () => handler(() => clock.jump(40_000)) } });
    expect(await send(receiver)).toMatchObject({ code: "processed", warnings: ["lease_lost"] });
  });

  test("and taken over is not released by the run that lost it", async () => {
    const first = gate();
    const { receiver, clock } = timed({
      on: { "*": (_, { run }) => (run === 1 ? first.opened : never()) },
    });
    void send(receiver);
    await clock.advance(0);
    clock.jump(30 * second);
    void send(receiver);
    await clock.advance(0);
    first.fail(new Error("stopped"));
    await settled();
    expect((await send(receiver)).code).toBe("in_flight");
  });
});

test("after maxRunMs the lease is not renewed, and the next copy takes over with a larger fence", async () => {
  const extendedAt: number[] = [];
  const fences: number[] = [];
  const { receiver, clock } = timed(
    {
      maxRunMs: 60 * second,
      on: {
        "*": (_, { fence }) => {
          fences.push(fence ?? 0);
          return never();
        },
      },
    },
    noteExtends(extendedAt),
  );
  void send(receiver);
  await clock.advance(90 * second - 1);
  expect(extendedAt).toEqual([10, 20, 30, 40, 50, 60]);
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(1);
  expect(clock.timers).toBe(0);
  void send(receiver);
  await settled();
  expect(fences).toHaveLength(2);
  expect(fences[1]).toBeGreaterThan(Number(fences[0]));
});

describe("a complete that fails", () => {
  test("still ends as a 200, and is retried until it succeeds", async () => {
    const calls: NotedCall[] = [];
    let failures = 3;
    const { receiver, clock, lines } = timed({}, (store) => {
      const noted = noting(calls, store);
      return {
        ...noted,
        complete(...call) {
          const result = noted.complete(...call);
          if (failures-- > 0) throw new Error("connection reset");
          return result;
        },
      };
    });
    expect(await send(receiver)).toMatchObject({
      code: "processed",
      status: 200,
      warnings: ["complete_failed"],
    });
    expect(lines).toEqual(["svc-webhooks internal error: connection reset"]);
    await clock.advance(10 * second);
    const completions = calls.filter(({ operation }) => operation === "complete");
    expect(completions).toHaveLength(4);
    expect(new Set(calls.map(({ request }) => request.token)).size).toBe(1);
    expect(clock.timers).toBe(0);
    expect(lines).toHaveLength(1);
  });

  test("is retried until the lease ends, and then the event runs again", async () => {
    let runs = 0;
    let completions = 0;
    const { receiver, clock } = timed({ on: { "*": () => (runs += 1) } }, () => ({
      complete() {
        completions += 1;
        throw new Error("read only");
      },
    }));
    expect((await send(receiver)).code).toBe("processed");
    await clock.advance(30 * second - 1);
    expect((await send(receiver)).code).toBe("in_flight");
    await clock.advance(second);
    expect(clock.timers).toBe(0);
    // The pauses are at most 0.5, 1, 2, 4, 8, 8 … s, and at least half of that.
    expect(completions).toBeGreaterThanOrEqual(7);
    expect(completions).toBeLessThanOrEqual(11);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
    expect(runs).toBe(2);
  });

  test("is retried for leaseMs after the lease was lost", async () => {
    let failures = 3;
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({ on: { "*": () => opened } }, (store) => ({
      complete(...call) {
        if (failures-- > 0) throw new Error("connection reset");
        return store.complete(...call);
      },
    }));
    void send(receiver);
    await clock.advance(0);
    clock.jump(31 * second);
    open();
    await settled();
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
  const { receiver, clock, lines } = timed(
    {
      on: {
        "*": (_, { run }) => {
          if (run === 1) throw new Error("no");
        },
      },
    },
    () => ({ release: () => Promise.reject(new Error("connection reset")) }),
  );
  expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500, warnings: [] });
  expect(lines).toEqual(["handler: Error: no", "svc-webhooks internal error: connection reset"]);
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(30 * second);
  expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
});

test("onHandlerError receives the errors of sync and async handlers, with their contexts", async () => {
  const seen: unknown[] = [];
  const thrown = new Error("no");
  const { receiver } = observed({
    on: {
      "email.sent": () => {
        throw thrown;
      },
      "email.bounced": () => Promise.reject(thrown),
    },
    onHandlerError: (error, { deliveryId, type, run }) =>
      seen.push({ same: error === thrown, deliveryId, type, run }),
  });
  expect((await send(receiver)).code).toBe("handler_failed");
  const other = { "x-svc-delivery-id": "dlv_2" };
  expect((await send(receiver, eventBody("email.bounced"), other)).code).toBe("handler_failed");
  expect(seen).toEqual([
    { same: true, deliveryId: "dlv_1", type: "email.sent", run: 1 },
    { same: true, deliveryId: "dlv_2", type: "email.bounced", run: 1 },
  ]);
});

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
    const contexts: DeliveryContext[] = [];
    const events: unknown[] = [];
    const { receiver, clock } = timed({
      secret: [
        { id: "new", key: "whsec_new" },
        { id: "old", key: secret },
      ],
      on: {
        "*": (event, context) => {
          events.push(event);
          contexts.push(context);
        },
      },
    });
    await send(receiver, body, headers);
    expect(events).toEqual([{ type: "email.sent", id: "evt_signed", to: "é" }]);
    expect(contexts).toMatchObject([
      {
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
        bodyBytes: new TextEncoder().encode(body).length,
        warnings: ["old_secret"],
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
      },
    ]);
    expect(contexts[0]?.signal.aborted).toBe(false);
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
    const [context] = contexts;
    expect(context).toMatchObject({ secretId: "default", eventIdSigned: false });
    expect([context?.attempt, context?.subscriptionId, context?.eventId]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("has a delivery that can be stored as JSON and, after forget, passed to receive() again", async () => {
    const stored: StoredDelivery[] = [];
    const keys: string[] = [];
    const { receiver, store } = timed({
      on: {
        "*": (_, { delivery, idempotencyKey }) => {
          stored.push(delivery);
          keys.push(idempotencyKey);
        },
      },
    });
    const first = await send(receiver, body, headers);
    const [delivery] = stored;
    const text = JSON.stringify({
      ...delivery,
      body: Buffer.from(delivery?.body ?? []).toString("base64"),
    });
    expect(text).not.toContain("left out");

    const parsed = JSON.parse(text) as Omit<StoredDelivery, "body"> & { readonly body: string };
    const again = { ...parsed, body: new Uint8Array(Buffer.from(parsed.body, "base64")) };
    expect((await receiver.receive(again)).code).toBe("duplicate");
    const { signal } = new AbortController();
    expect(await store.forget(keys[0] ?? "", { signal })).toBe(true);
    const { receivedAt, deliveryId, subscriptionId, attempt, eventId, bodyBytes } = first;
    expect(await receiver.receive(again)).toMatchObject({
      code: "processed",
      receivedAt,
      deliveryId,
      subscriptionId,
      attempt,
      eventId,
      bodyBytes,
      warnings: [],
    });
    expect(stored[1]).toEqual({ ...delivery, body: new Uint8Array(delivery.body) });
  });
});

describe("waitUntil", () => {
  test("receives the whole run once, at the claim, as a promise that is pending until the run has settled", async () => {
    const { opened, open } = gate();
    const works: Promise<unknown>[] = [];
    let pending = true;
    const { receiver, clock } = timed({ on: { "*": () => opened } });
    const waitUntil = (work: Promise<unknown>) => {
      works.push(work);
      void work.then(() => (pending = false));
    };
    const responding = receiver.receive(await signed(), { waitUntil });
    await clock.advance(0);
    expect(works).toHaveLength(1);
    await clock.advance(40 * second);
    expect((await responding).code).toBe("handler_timeout");
    expect(pending).toBe(true);
    open();
    await settled();
    expect({ pending, works: works.length }).toEqual({ pending: false, works: 1 });
  });

  test("is not called if nothing runs", async () => {
    const works: unknown[] = [];
    const { receiver } = observed({ on: { "email.sent": () => {} } });
    const options = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    await send(receiver);
    const codes = [
      await receiver.receive(await signed(), options),
      await receiver.receive(await signed(eventBody("other")), options),
      await receiver.receive({ method: "POST", headers: {}, body: new Uint8Array() }, options),
    ].map(({ code }) => code);
    expect(codes).toEqual(["duplicate", "ignored", "signature_missing"]);
    expect(works).toEqual([]);
  });

  test("is not called for a synchronous run", async () => {
    const works: unknown[] = [];
    const { receiver } = observed({ on: { "*": () => {} } });
    const waitUntil = (work: Promise<unknown>) => void works.push(work);
    const outcome = await receiver.receive(await signed(), { waitUntil });
    expect({ code: outcome.code, works }).toEqual({ code: "processed", works: [] });
  });

  test("receives work that never rejects, even if the handler does", async () => {
    const works: Promise<unknown>[] = [];
    const { receiver } = observed({ on: { "*": () => Promise.reject(new Error("no")) } });
    await receiver.receive(await signed(), { waitUntil: (work) => void works.push(work) });
    expect(await Promise.allSettled(works)).toMatchObject([{ status: "fulfilled" }]);
  });

  test("receives the retries of complete", async () => {
    const pending = new Set<Promise<unknown>>();
    let failures = 3;
    const { receiver, clock } = timed({}, (store) => ({
      complete(...call) {
        if (failures-- > 0) throw new Error("connection reset");
        return store.complete(...call);
      },
    }));
    await receiver.receive(await signed(), {
      waitUntil(work) {
        pending.add(work);
        void work.then(() => pending.delete(work));
      },
    });
    await clock.advance(second);
    expect(pending.size).toBeGreaterThan(0);
    await clock.advance(3 * second);
    expect(pending.size).toBe(0);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no background here");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no background here"))],
  ])("that %s does not change the outcome", async (_, waitUntil) => {
    const { receiver, lines } = observed({ on: { "*": async () => {} } });
    expect(await receiver.receive(await signed(), { waitUntil })).toMatchObject({
      code: "processed",
      warnings: [],
    });
    await settled();
    expect(lines).toEqual(["svc-webhooks internal error: no background here"]);
  });
});

test("receivers built from the same options share nothing but their store", async () => {
  const build = () => createReceiver({ secret, on: { "*": () => {} } });
  expect((await send(build())).code).toBe("processed");
  expect((await send(build())).code).toBe("processed");
});

test("a handler that replaces the warnings in its context changes no outcome", async () => {
  const { receiver } = observed({
    on: {
      "*": (_, context) => {
        Object.assign(context, { warnings: undefined });
      },
    },
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
    // Generators without a yield, which users write by mistake.
    ["an async generator", async function* () {}],
    ["a generator", function* () {}],
    ["an iterator", () => [1].values()],
    ["a promise of a generator", async () => (async function* () {})()],
  ])("that returns %s fails, because its code has not run", async (_, handler) => {
    const calls: NotedCall[] = [];
    // The types reject it.
    const on = { "*": handler as () => undefined };
    const { receiver, lines } = timed({ on }, (store) => noting(calls, store));
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(operationsOf(calls)).toEqual(["claim", "release failed"]);
    expect(lines).toEqual([expect.stringContaining("returned an iterator")]);
  });

  test.each<[string, unknown]>([
    ["a Map", new Map([[1, 2]])],
    ["an array", [1]],
    ["text", "done"],
  ])("may return %s", async (_, value) => {
    const { receiver } = observed({ on: { "*": () => value as string } });
    expect((await send(receiver)).code).toBe("processed");
  });
});
