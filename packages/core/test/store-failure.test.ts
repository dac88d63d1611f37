import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate, type Gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import type { ClaimResult, DeliveryStore, StoreCall } from "../src/index.js";
import { never, noting, send, timed, type NotedCall } from "./support.js";

const second = 1_000;

const operationsOf = (calls: readonly NotedCall[]) =>
  calls.map(({ operation, request: { to } }) => (to ? `${operation} ${to}` : operation));

/** A claim that the store grants, but whose result it returns only after `open`. */
function heldClaim(store: DeliveryStore) {
  const { opened, open } = gate();
  const claim: DeliveryStore["claim"] = async (...call) => {
    const result = await store.claim(...call);
    await opened;
    return result;
  };
  return { claim, open };
}

describe("a claim without a result", () => {
  test.each<[string, () => never | Promise<never>]>([
    [
      "because the store throws",
      () => {
        throw new Error("connection reset");
      },
    ],
    ["because the store rejects", () => Promise.reject(new Error("connection reset"))],
  ])("%s fails closed immediately and is released as unused", async (_, claim) => {
    const calls: NotedCall[] = [];
    let runs = 0;
    const { receiver, lines, clock } = timed({ on: { "*": () => (runs += 1) } }, (store) =>
      noting(calls, { ...store, claim }),
    );
    expect(await send(receiver)).toMatchObject({
      code: "store_unavailable",
      status: 503,
      retryAfterMs: 5_000,
    });
    await settled();
    expect(runs).toBe(0);
    expect(operationsOf(calls)).toEqual(["claim", "release unused"]);
    expect(calls[1]?.request.token).toBe(calls[0]?.request.token);
    expect(calls[1]?.key).toBe(calls[0]?.key);
    expect(lines).toEqual([expect.stringMatching(/store_unavailable: .*connection reset$/)]);
    expect(clock.timers).toBe(0);
  });

  test("is awaited for 1.5 s by default, and no longer", async () => {
    let runs = 0;
    const { receiver, clock, reports, lines } = timed({ on: { "*": () => (runs += 1) } }, () => ({
      claim: never,
    }));
    void send(receiver);
    await clock.advance(1_499);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "store_unavailable", claimMs: 1_500 }]);
    expect(lines).toEqual([expect.stringContaining("store.claim took longer than 1500 ms")]);
    await clock.advance(60 * second);
    expect(runs).toBe(0);
    expect(clock.timers).toBe(0);
  });

  test("is awaited for storeTimeouts.claim", async () => {
    const { receiver, clock, reports } = timed({ storeTimeouts: { claim: 200 } }, () => ({
      claim: never,
    }));
    void send(receiver);
    await clock.advance(199);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "store_unavailable" }]);
  });

  test("that was granted does not block the next attempt or count a run", async () => {
    let lost = 1;
    const { receiver } = timed({}, (store) => ({
      async claim(...call) {
        const result = await store.claim(...call);
        if (lost-- > 0) throw new Error("connection reset");
        return result;
      },
    }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    await settled();
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test("that is granted late is released only once", async () => {
    const calls: NotedCall[] = [];
    let openClaim = () => {};
    const { receiver, clock } = timed({}, (store) => {
      const { claim, open } = heldClaim(store);
      openClaim = open;
      return noting(calls, { ...store, claim });
    });
    void send(receiver);
    await clock.advance(1_500);
    expect(operationsOf(calls)).toEqual(["claim", "release unused"]);
    openClaim();
    await settled();
    expect(operationsOf(calls)).toEqual(["claim", "release unused"]);
  });

  test("that is granted after its release was executed is released again", async () => {
    let held = gate();
    const calls: NotedCall[] = [];
    const { receiver, clock } = timed({}, (store) =>
      noting(calls, {
        ...store,
        async claim(...call) {
          await held.opened;
          return store.claim(...call);
        },
      }),
    );
    const first = send(receiver);
    await clock.advance(1_500);
    expect((await first).code).toBe("store_unavailable");
    held.open();
    await settled();
    expect(operationsOf(calls)).toEqual(["claim", "release unused", "release unused"]);
    expect(new Set(calls.map(({ request }) => request.token)).size).toBe(1);
    held = gate();
    held.open();
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test.each<ClaimResult>([
    { status: "busy", leaseLeftMs: 1_000 },
    { status: "done" },
    { status: "parked" },
  ])("that is finally $status is not released again", async (late) => {
    const calls: NotedCall[] = [];
    const { opened, open } = gate();
    const { receiver, clock } = timed({}, (store) =>
      noting(calls, { ...store, claim: () => opened.then(() => late) }),
    );
    void send(receiver);
    await clock.advance(1_500);
    open();
    await settled();
    expect(operationsOf(calls)).toEqual(["claim", "release unused"]);
  });

  test.each<[string, () => boolean | Promise<boolean>]>([
    [
      "throws",
      () => {
        throw new Error("still down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("still down"))],
    ["hangs", never],
  ])("whose release %s ends with its lease", async (_, release) => {
    let claims = 0;
    const { receiver, clock, lines } = timed({}, (store) => ({
      release,
      async claim(...call) {
        const result = await store.claim(...call);
        if (++claims === 1) throw new Error("connection reset");
        return result;
      },
    }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    expect((await send(receiver)).code).toBe("in_flight");
    // The last retry may start just before the lease ends.
    await clock.advance(33 * second);
    expect((await send(receiver)).code).toBe("processed");
    expect(clock.timers).toBe(0);
    expect(lines).toHaveLength(1);
  });

  test("has its release retried until the store accepts it, after which the next attempt runs", async () => {
    let down = true;
    const { receiver, clock } = timed({}, (store) => ({
      async claim(...call) {
        const result = await store.claim(...call);
        if (down) throw new Error("connection reset");
        return result;
      },
      async release(...call) {
        if (down) throw new Error("still down");
        return await store.release(...call);
      },
    }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    await clock.advance(5 * second);
    down = false;
    await clock.advance(8 * second);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test("has its release passed to waitUntil, without delaying the response", async () => {
    const works: Promise<unknown>[] = [];
    const { receiver } = timed({}, () => ({
      claim: () => Promise.reject(new Error("connection reset")),
      release: never,
    }));
    const outcome = await receiver.receive(await signed(), {
      waitUntil: (work) => void works.push(work),
    });
    expect(outcome.code).toBe("store_unavailable");
    expect(works).toHaveLength(1);
  });
});

describe("a claim with an invalid result", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a string", "OK"],
    ["an object without a status", {}],
    ["a status that does not exist", { status: "taken" }],
  ])("(%s) never starts a handler", async (_, result) => {
    let runs = 0;
    const { receiver } = timed({ on: { "*": () => (runs += 1) } }, () => ({
      claim: () => result as ClaimResult,
    }));
    const { code } = await send(receiver);
    expect({ code, runs }).toEqual({ code: "store_unavailable", runs: 0 });
  });

  test("that arrives late causes no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const { opened, open } = gate();
      const { receiver, clock } = timed({}, () => ({
        claim: () => opened as Promise<unknown> as Promise<ClaimResult>,
      }));
      void send(receiver);
      await clock.advance(1_500);
      open();
      await settled();
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });
});

describe("the signal of a store call", () => {
  test.each<[keyof DeliveryStore, number, (clock: FakeClock, work: Gate) => unknown]>([
    ["claim", 1_500, () => {}],
    ["extend", 1_500, (clock) => clock.advance(10 * second)],
    ["complete", 2_000, (_, work) => work.open()],
    ["release", 1_500, (_, work) => work.fail(new Error("no"))],
  ])("to %s is aborted after %i ms", async (operation, deadlineMs, lead) => {
    const signals: AbortSignal[] = [];
    const work = gate();
    const { receiver, clock } = timed({ on: { "*": () => work.opened } }, () => ({
      [operation]: (_key: string, _request: unknown, { signal }: StoreCall) => {
        signals.push(signal);
        return never();
      },
    }));
    void send(receiver);
    await clock.advance(0);
    await lead(clock, work);
    await clock.advance(deadlineMs - 1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(1);
    expect(signals).toMatchObject([{ aborted: true, reason: { code: "deadline" } }]);
  });

  test("is not aborted if the result arrived in time", async () => {
    const signals: AbortSignal[] = [];
    const { receiver, clock } = timed({}, (store) => ({
      async claim(key, request, call) {
        signals.push(call.signal);
        return store.claim(key, request, call);
      },
    }));
    await send(receiver);
    await clock.advance(60 * second);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test("is already aborted for a store that first reads it after its deadline", async () => {
    let wasAborted: boolean | undefined;
    const { opened, open } = gate();
    const { receiver, clock } = timed({}, () => ({
      async claim(_key, _request, call) {
        await opened;
        wasAborted = call.signal.aborted;
        return never();
      },
    }));
    void send(receiver);
    await clock.advance(1_500);
    open();
    await settled();
    expect(wasAborted).toBe(true);
  });
});

test("deliveries that need no store get their outcomes while the store is unavailable", async () => {
  const calls: string[] = [];
  const down = (operation: string) => () => {
    calls.push(operation);
    throw new Error("connection refused");
  };
  const { receiver } = timed({ on: { "email.sent": () => {} } }, () => ({
    claim: down("claim"),
    release: down("release"),
  }));
  expect((await send(receiver, eventBody("other.type"))).code).toBe("ignored");
  expect((await send(receiver, eventBody(), {}, "whsec_wrong")).code).toBe("signature_mismatch");
  expect((await send(receiver, "[]")).code).toBe("malformed_body");
  expect(calls).toEqual([]);
});
