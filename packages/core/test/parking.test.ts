import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import {
  answer,
  memoryStore,
  PermanentError,
  RetryError,
  type DeliveryContext,
  type Handler,
  type ReceiverOptions,
} from "../src/index.js";
import {
  bothWays,
  codesOf,
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

const hopeless = new PermanentError("the customer is gone");
const givesUp = { "*": throwing(hopeless) };

/** An `onParked` that records the parked events. */
function parkingLot() {
  const parked: { readonly error: unknown; readonly context: DeliveryContext }[] = [];
  const onParked = (error: unknown, context: DeliveryContext) => parked.push({ error, context });
  return { parked, onParked };
}

describe.each(bothWays(hopeless))("a PermanentError from a handler that %s", (_, handler) => {
  const on = { "*": handler };

  test("ends as parked (200) when onParked resolves, and no attempt runs the event again", async () => {
    const { parked, onParked } = parkingLot();
    const { receiver, lines, reports, operations } = timed({ on, onParked });
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200, run: 1 });
    expect(parked).toMatchObject([
      { error: hopeless, context: { deliveryId: "dlv_1", type: "email.sent", run: 1 } },
    ]);
    expect(operations()).toEqual(["claim", "release parked"]);

    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(parked).toHaveLength(1);
    expect(operations()).toEqual(["claim", "release parked", "claim"]);
    expect(reports).toMatchObject([{ code: "parked" }, { code: "parked" }]);
    // An event that onParked received is not a failure.
    expect(lines).toEqual([]);
  });

  test("also parks without onParked, and onHandlerError receives the error", async () => {
    const { receiver, lines } = timed({ on });
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(lines).toEqual(["handler: PermanentError: the customer is gone"]);
    expect((await send(receiver)).code).toBe("parked");
    expect(lines).toHaveLength(1);
  });

  test("calls onHandlerError with the error and the context only", async () => {
    const calls: (readonly unknown[])[] = [];
    const { receiver } = timed({ on, onHandlerError: (...given: unknown[]) => calls.push(given) });
    await send(receiver);
    expect(calls).toEqual([[hopeless, expect.objectContaining({ deliveryId: "dlv_1" })]]);
  });

  test.each(bothWays(new Error("disk full")))(
    "is tried again if onParked %s",
    async (__, onParked) => {
      const { receiver, lines, operations } = timed({ on, onParked });
      expect(await send(receiver)).toMatchObject({
        code: "handler_failed",
        status: 500,
        retryAfterMs: undefined,
      });
      expect(operations()).toEqual(["claim", "release failed"]);
      expect(lines).toEqual(["handler: Error: disk full"]);
      expect(await send(receiver)).toMatchObject({ code: "handler_failed", run: 2 });
    },
  );

  test("parks even if onHandlerError fails", async () => {
    const onHandlerError = () => Promise.reject(new Error("no logger"));
    const { receiver, lines } = timed({ on, onHandlerError });
    expect((await send(receiver)).code).toBe("parked");
    await settled();
    expect(lines).toEqual(["svc-webhooks test: internal_error: no logger"]);
  });

  test("ends only when onParked has resolved, and other copies are refused until then", async () => {
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({ on, onParked: () => opened });
    const responding = send(receiver);
    await clock.advance(9 * second);
    expect(reports).toEqual([]);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    expect((await responding).code).toBe("parked");
    expect(clock.timers).toBe(0);
  });

  test("shares handlerTimeoutMs with onParked, which then continues under the lease", async () => {
    const { opened, open } = gate();
    const signals: AbortSignal[] = [];
    const { receiver, clock, reports } = timed({
      on,
      onParked(__, { signal }) {
        signals.push(signal);
        return opened;
      },
    });
    const responding = send(receiver);
    await clock.advance(10 * second - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(await responding).toMatchObject({ code: "handler_timeout", status: 503 });
    expect(signals).toMatchObject([{ reason: { code: "handler_timeout" } }]);
    await clock.advance(80 * second);
    expect((await send(receiver)).code).toBe("in_flight");

    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "parked", status: 200 });
    expect((await send(receiver)).code).toBe("parked");
    expect(clock.timers).toBe(0);
  });

  test("has the signal of onParked aborted if the lease is lost meanwhile", async () => {
    const signals: AbortSignal[] = [];
    const onParked: ReceiverOptions["onParked"] = (__, { signal }) => {
      signals.push(signal);
      return never();
    };
    const options = { on, onParked, handlerTimeoutMs: 25 * second };
    const { receiver, clock } = timed(options, () => ({ extend: () => false }));
    void send(receiver);
    await clock.advance(10 * second);
    expect(signals).toMatchObject([{ reason: { code: "lease_lost" } }]);
  });
});

test("onParked only has the time that the handler left", async () => {
  const { receiver, clock, reports, fail } = gated({ onParked: never });
  void send(receiver);
  await clock.advance(7 * second);
  await fail(hopeless);
  await clock.advance(3 * second - 1);
  expect(reports).toEqual([]);
  await clock.advance(1);
  expect(reports).toMatchObject([{ code: "handler_timeout", runMs: 10 * second }]);
});

test("a run that throws a PermanentError after its response is parked, with a second report", async () => {
  const { parked, onParked } = parkingLot();
  const { receiver, clock, reports, fail } = gated({ onParked });
  void send(receiver);
  await clock.advance(20 * second);
  await fail(hopeless);
  expect(parked).toMatchObject([{ error: hopeless }]);
  expect(reports).toMatchObject([
    { phase: "answered", code: "handler_timeout" },
    { phase: "settled", code: "parked", status: 200 },
  ]);
});

test("a parking that the store could not record is retried in the background", async () => {
  const { parked, onParked } = parkingLot();
  const { receiver, clock, operations } = timed(
    { on: givesUp, onParked },
    failsFirst(2, "release"),
  );
  expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(2 * second);
  expect((await send(receiver)).code).toBe("parked");
  expect(operations().filter((operation) => operation === "release parked")).toHaveLength(3);
  expect(parked).toHaveLength(1);
});

const ordinaryError = (fields: object = {}) => Object.assign(new Error("no"), fields);

describe("errors of another copy of this package are recognized by their brand:", () => {
  const copyOf = (code: string, more: object = {}) =>
    ordinaryError({ [Symbol.for("svc-webhooks.error")]: code, ...more });

  test("permanent_error parks", async () => {
    const { parked, onParked } = parkingLot();
    const foreign = copyOf("permanent_error");
    const { receiver } = timed({ on: { "*": throwing(foreign) }, onParked });
    expect((await send(receiver)).code).toBe("parked");
    expect(parked).toMatchObject([{ error: foreign }]);
  });

  test("retry_error sets the Retry-After", async () => {
    const foreign = copyOf("retry_error", { retryAfterMs: 7_000 });
    const { receiver } = timed({ on: { "*": throwing(foreign) } });
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", retryAfterMs: 7_000 });
  });
});

test.each<[string, unknown]>([
  ["undefined", undefined],
  ["null", null],
  ["a string", "permanent_error"],
  ["a number", 42],
  ["an object without a prototype", Object.create(null)],
  ["an error with another code", ordinaryError({ code: "ECONNRESET" })],
  ["an error with retryAfterMs alone", ordinaryError({ retryAfterMs: 5_000 })],
  ["an error with a code that is not a string", ordinaryError({ code: ["retry_error"] })],
  [
    "another library's permanent_error",
    ordinaryError({ code: "permanent_error", retryAfterMs: 7_000 }),
  ],
  ["another library's retry_error", ordinaryError({ code: "retry_error", retryAfterMs: 7_000 })],
])("%s thrown by a handler is an ordinary failure", async (_, thrown) => {
  const { parked, onParked } = parkingLot();
  const errors: unknown[] = [];
  const { receiver } = timed({
    on: { "*": throwing(thrown) },
    onParked,
    onHandlerError: (error) => errors.push(error),
  });
  expect(await send(receiver)).toMatchObject({ code: "handler_failed", retryAfterMs: undefined });
  expect(errors).toEqual([thrown]);
  expect(parked).toEqual([]);
});

describe("an unreadable error is an ordinary failure", () => {
  const { proxy: unreadable, revoke } = Proxy.revocable(new Error("no"), {});
  revoke();

  test.each<[string, () => never | Promise<never>]>([
    ["synchronously", throwing(unreadable)],
    ["later", () => settled().then(throwing(unreadable))],
  ])("if it is thrown %s", async (_, fail) => {
    const { receiver, clock } = timed({
      on: { "*": (__, { run }) => (run === 1 ? fail() : undefined) },
    });
    expect((await send(receiver)).status).toBe(500);
    expect(clock.timers).toBe(0);
    expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
  });
});

describe("RetryError", () => {
  test.each([
    [1, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [59_999.5, "60"],
    [86_400_000, "86400"],
    [86_400_001, "86400"],
    [Number.MAX_VALUE, "86400"],
    [Infinity, "86400"],
    [0, "1"],
    [-1, "1"],
    [-1_000, "1"],
    [-86_400_000, "1"],
    [-Infinity, "1"],
    [Number.NaN, "1"],
  ])(
    "of %d ms is sent as %s s, rounded up, at least 1 s and at most a day",
    async (retryAfterMs, seconds) => {
      const { receiver } = timed({ on: { "*": throwing(new RetryError({ retryAfterMs })) } });
      const outcome = await send(receiver);
      expect(outcome).toMatchObject({ code: "handler_failed", status: 500, retryAfterMs });
      expect(answer(outcome).headers["Retry-After"]).toBe(seconds);
    },
  );

  test("is otherwise an ordinary failure, reported and tried again", async () => {
    const cause = new Error("rate limited");
    const error = new RetryError({ retryAfterMs: 2_000, cause });
    const errors: unknown[] = [];
    const { receiver, operations } = timed({
      on: { "*": throwing(error) },
      onHandlerError: (thrown) => errors.push(thrown),
    });
    await send(receiver);
    expect(errors).toEqual([error]);
    expect(error).toMatchObject({ cause, message: "retry after 2000 ms", code: "retry_error" });
    expect(operations()).toEqual(["claim", "release failed"]);
    expect(await send(receiver)).toMatchObject({ run: 2 });
  });

  test.each([undefined, null, 5_000, {}, { retryAfterMs: "5000" }])(
    "built with %j is tried again after 1 s, and its message states the fix",
    async (options) => {
      const errors: unknown[] = [];
      const { receiver } = timed({
        on: { "*": () => Promise.reject(new RetryError(options as never)) },
        onHandlerError: (error) => errors.push(error),
      });
      const outcome = await send(receiver);
      expect(outcome).toMatchObject({ code: "handler_failed", status: 500 });
      expect(answer(outcome).headers["Retry-After"]).toBe("1");
      const message = expect.stringContaining(
        "Pass a number of milliseconds, such as new RetryError(",
      );
      const cause = { code: "invalid_option", option: "retryAfterMs", message };
      expect(errors).toMatchObject([{ code: "retry_error", message, cause }]);
      expect((await send(receiver)).run).toBe(2);
    },
  );

  test("built with nonsense keeps its own cause", () => {
    const cause = new Error("rate limited");
    expect(new RetryError({ cause } as never).cause).toBe(cause);
  });

  test("from onParked is a failure, and the event is not parked", async () => {
    const onParked = throwing(new RetryError({ retryAfterMs: 60_000 }));
    const { receiver } = timed({ on: givesUp, onParked });
    expect((await send(receiver)).code).toBe("handler_failed");
  });
});

describe("maxRuns", () => {
  /** A receiver whose handler fails, and the runs that started. */
  function failing(options: Partial<ReceiverOptions>) {
    const runs: unknown[] = [];
    const { parked, onParked } = parkingLot();
    const fail: Handler = (_, { run }) => {
      runs.push(run);
      throw new Error("no");
    };
    return { ...timed({ on: { "*": fail }, onParked, ...options }), runs, parked };
  }

  test.each([1, 2, 5])(
    "of %d parks the event at the next claim, without running the handler",
    async (maxRuns) => {
      const { receiver, lines, runs, parked } = failing({ maxRuns });
      for (let run = 1; run <= maxRuns; run += 1) {
        expect(await send(receiver)).toMatchObject({ code: "handler_failed", run });
      }
      expect(parked).toEqual([]);
      expect(await send(receiver)).toMatchObject({ code: "parked", status: 200, run: maxRuns + 1 });
      expect(runs).toEqual(Array.from({ length: maxRuns }, (_, index) => index + 1));
      expect(parked).toMatchObject([
        {
          error: { code: "permanent_error", message: `given up after ${maxRuns} runs` },
          context: { run: maxRuns + 1 },
        },
      ]);
      expect(parked[0]?.error).toBeInstanceOf(PermanentError);
      expect(lines).toHaveLength(maxRuns);

      expect((await send(receiver)).code).toBe("parked");
      expect(parked).toHaveLength(1);
    },
  );

  test("allows the last run to succeed", async () => {
    const { parked, onParked } = parkingLot();
    const { receiver } = timed({ on: { "*": failsUnlessRun(3) }, maxRuns: 3, onParked });
    expect(await codesOf(receiver, 4)).toEqual([
      "handler_failed",
      "handler_failed",
      "processed",
      "duplicate",
    ]);
    expect(parked).toEqual([]);
  });

  test("runs onParked again at the next attempt if it failed, and never the handler", async () => {
    let refusals = 2;
    const { receiver, runs } = failing({
      maxRuns: 1,
      onParked() {
        if (refusals-- > 0) throw new Error("disk full");
      },
    });
    expect(await codesOf(receiver, 4)).toEqual([
      "handler_failed",
      "handler_failed",
      "handler_failed",
      "parked",
    ]);
    expect(runs).toEqual([1]);
  });

  test("counts runs whose event the schema rejected", async () => {
    const events = { "email.sent": schemaBy(() => ({ issues: [{ message: "no" }] })) };
    const { receiver, parked } = failing({ events, maxRuns: 2 });
    expect(await codesOf(receiver, 3)).toEqual(["event_invalid", "event_invalid", "parked"]);
    expect(parked).toHaveLength(1);
  });

  test("counts runs whose lease expired without a release", async () => {
    const { parked, onParked } = parkingLot();
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const runs: unknown[] = [];
    for (const _ of ["first", "second"]) {
      // This receiver's clock stands still, so nothing extends the lease, as if the process had ended.
      const dying = gated({ store, maxRuns: 2, onParked });
      void send(dying.receiver);
      await settled();
      clock.jump(30 * second);
      runs.push(...dying.contexts.map(({ run }) => run));
    }
    const heir = observed({ clock, store, maxRuns: 2, onParked });
    expect(await send(heir.receiver)).toMatchObject({ code: "parked", run: 3 });
    expect(runs).toEqual([1, 2]);
    expect(parked).toMatchObject([{ context: { run: 3 } }]);
  });

  test("does not count copies that were refused as in_flight", async () => {
    const { parked, onParked } = parkingLot();
    const { receiver, finish } = gated({ maxRuns: 1, onParked });
    const first = send(receiver);
    await settled();
    expect(new Set(await codesOf(receiver, 5))).toEqual(new Set(["in_flight"]));
    await finish();
    expect(await first).toMatchObject({ code: "processed", run: 1 });
    expect(parked).toEqual([]);
  });

  test("that is not set parks nothing, after any number of deliveries", async () => {
    const { receiver, runs, parked } = failing({});
    await codesOf(receiver, 200);
    expect(runs).toHaveLength(200);
    expect(parked).toEqual([]);
  });

  test.each([
    ["grants claims but returns too late", 0, 2 * second],
    ["grants claims too late", 2 * second, 0],
    ["grants claims but never returns", 0, Infinity],
  ])(
    "does not park a delivery whose handler did not run, if a store %s",
    async (_, before, after) => {
      let slowClaims = 10;
      const { parked, onParked } = parkingLot();
      const runs: unknown[] = [];
      const { receiver, clock } = timed(
        { on: { "*": (__, { run }) => runs.push(run) }, maxRuns: 1, onParked },
        (store, time) => ({
          async claim(...call) {
            if (slowClaims-- <= 0) return store.claim(...call);
            await pause(time, before);
            const taken = await store.claim(...call);
            await pause(time, after);
            return taken;
          },
        }),
      );
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const responding = send(receiver);
        await clock.advance(3 * second);
        expect((await responding).code).toBe("store_unavailable");
      }
      expect(await send(receiver)).toMatchObject({ code: "processed", run: 1 });
      expect(runs).toEqual([1]);
      expect(parked).toEqual([]);
    },
  );
});
