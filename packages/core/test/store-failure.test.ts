import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate, type Gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  WebhookError,
  type ClaimResult,
  type DeliveryStore,
  type StoreCall,
} from "../src/index.js";
import { bothWays, losingFirstResult, never, recorded, second, send, timed } from "./support.js";

const reset = () => Promise.reject(new Error("connection reset"));

describe("a claim without a result", () => {
  test.each(bothWays(new Error("connection reset")))(
    "because the store %s fails closed immediately and is released as unused",
    async (_, claim) => {
      const unavailable = { code: "store_unavailable", status: 503, retryAfterMs: 5_000 };
      const { receiver, lines, clock, contexts, ...store } = recorded({}, () => ({ claim }));
      expect(await send(receiver)).toMatchObject(unavailable);
      await settled();
      expect(contexts).toEqual([]);
      expect(store.operations()).toEqual(["claim", "release unused"]);
      const [claimed, released] = store.calls;
      expect(released?.key).toBe(claimed?.key);
      expect(released?.request.token).toBe(claimed?.request.token);
      expect(lines).toEqual([expect.stringMatching(/store_unavailable: .*connection reset$/)]);
      expect(clock.timers).toBe(0);
    },
  );

  test.each([
    ["1.5 s by default", undefined, 1_500],
    ["storeTimeouts.claim", { claim: 200 }, 200],
  ])("is awaited for %s, and no longer", async (_, storeTimeouts, deadlineMs) => {
    const { receiver, clock, reports, lines, contexts } = recorded({ storeTimeouts }, () => ({
      claim: never,
    }));
    void send(receiver);
    await clock.advance(deadlineMs - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "store_unavailable", claimMs: deadlineMs }]);
    const line = `store.claim took longer than ${deadlineMs} ms`;
    expect(lines).toEqual([expect.stringContaining(line)]);
    await clock.advance(60 * second);
    expect(contexts).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("because the store has sent nothing is reported with the store's reason, and not released", async () => {
    const reason = new WebhookError("not_sent", "The file is locked by process 7.");
    const { receiver, clock, operations, lines, reports } = recorded({}, () => ({
      claim(_key, _request, call) {
        call.unsent = reason;
        return never();
      },
      forget(_key, call) {
        call.unsent = reason;
        return never();
      },
    }));
    void send(receiver);
    await clock.advance(1_499);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "store_unavailable", claimMs: 1_500 }]);
    expect(lines).toEqual([expect.stringContaining("locked by process 7")]);
    await settled();
    expect(operations()).toEqual(["claim"]);
    const forgotten = receiver.forget({ deliveryId: "dlv_1" }).catch((error: unknown) => error);
    await settled();
    await clock.advance(1_500);
    expect(await forgotten).toBe(reason);
    expect(clock.timers).toBe(0);
  });

  test("that was granted does not block the next attempt or count a run", async () => {
    const { receiver } = timed({}, losingFirstResult);
    expect((await send(receiver)).code).toBe("store_unavailable");
    await settled();
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test("that is granted after its release was executed is released again", async () => {
    const { opened, open } = gate();
    const { receiver, clock, calls, operations } = recorded({}, (store) => ({
      claim: (...call) => opened.then(() => store.claim(...call)),
    }));
    const first = send(receiver);
    await clock.advance(1_500);
    expect((await first).code).toBe("store_unavailable");
    open();
    await settled();
    expect(operations()).toEqual(["claim", "release unused", "release unused"]);
    expect(new Set(calls.map(({ request }) => request.token)).size).toBe(1);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test.each<[string, ClaimResult?]>([
    ["granted"],
    ["busy", { status: "busy", leaseLeftMs: 1_000 }],
    ["done", { status: "done" }],
    ["parked", { status: "parked" }],
  ])("that is finally %s is not released again", async (_, late) => {
    const { opened, open } = gate();
    const { receiver, clock, operations } = recorded({}, (store) => ({
      async claim(...call) {
        const granted = await store.claim(...call);
        await opened;
        return late ?? granted;
      },
    }));
    void send(receiver);
    await clock.advance(1_500);
    expect(operations()).toEqual(["claim", "release unused"]);
    open();
    await settled();
    expect(operations()).toEqual(["claim", "release unused"]);
  });

  test.each([...bothWays(new Error("still down")), ["hangs", never] as const])(
    "whose release %s ends with its lease",
    async (_, release) => {
      const { receiver, clock, lines } = timed({}, (store) => ({
        ...losingFirstResult(store),
        release,
      }));
      expect((await send(receiver)).code).toBe("store_unavailable");
      expect((await send(receiver)).code).toBe("in_flight");
      // The last retry may start just before the lease ends.
      await clock.advance(33 * second);
      expect((await send(receiver)).code).toBe("processed");
      expect(clock.timers).toBe(0);
      expect(lines).toEqual([
        expect.stringContaining("store_unavailable"),
        expect.stringContaining("in_flight"),
        // The store may have granted the claim, and nothing has released it.
        expect.stringContaining("taken_over"),
      ]);
    },
  );

  test("has its release retried until the store accepts it, after which the next attempt runs", async () => {
    let isDown = true;
    const { receiver, clock } = timed({}, (store) => ({
      ...losingFirstResult(store),
      release: (...call) => (isDown ? reset() : store.release(...call)),
    }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    await clock.advance(5 * second);
    isDown = false;
    await clock.advance(8 * second);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
  });

  test("has its release passed to waitUntil, without delaying the response", async () => {
    const works: Promise<unknown>[] = [];
    const { receiver } = timed({}, () => ({ claim: reset, release: never }));
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
    const { receiver, contexts } = recorded({}, () => ({ claim: () => result as ClaimResult }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    expect(contexts).toEqual([]);
  });

  test("that arrives late causes no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const { opened, open } = gate<unknown>();
    const { receiver, clock } = timed({}, () => ({ claim: () => opened as Promise<ClaimResult> }));
    void send(receiver);
    await clock.advance(1_500);
    open(undefined);
    await settled();
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
      claim(key, request, call) {
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

test.each<[string, Parameters<typeof signed>]>([
  ["ignored", [eventBody("other.type")]],
  ["signature_mismatch", [eventBody(), {}, "whsec_wrong"]],
  ["malformed_body", ["[]"]],
])("a delivery that ends as %s does not call the store", async (code, delivery) => {
  const { receiver, calls } = recorded({ on: { "email.sent": () => {} } }, () => ({
    claim: reset,
    release: reset,
  }));
  expect((await send(receiver, ...delivery)).code).toBe(code);
  expect(calls).toEqual([]);
});

describe("a completion that the store refuses as handler_failed", () => {
  const refused = new WebhookError("handler_failed", "its transaction has failed");

  test.each(bothWays(refused))("(%s) releases the run as failed", async (_, complete) => {
    const handlerErrors: unknown[] = [];
    const onHandlerError = (error: unknown) => handlerErrors.push(error);
    const { receiver, clock, ...store } = recorded({ onHandlerError }, () => ({ complete }));
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(handlerErrors).toEqual([refused]);
    expect(store.operations()).toEqual(["claim", "complete", "release failed"]);
    expect(clock.timers).toBe(0);
  });

  test("after the response is reported as the run's end", async () => {
    const work = gate();
    const { receiver, clock, reports } = timed(
      { on: { "*": () => work.opened }, handlerTimeoutMs: 1_000 },
      () => ({ complete: () => Promise.reject(refused) }),
    );
    const sent = send(receiver);
    await clock.advance(1_000);
    expect((await sent).code).toBe("handler_timeout");
    work.open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ code: "handler_failed", phase: "settled" });
  });
});
