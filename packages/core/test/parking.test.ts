import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import {
  answer,
  memoryStore,
  PermanentError,
  RetryError,
  type DeliveryContext,
  type DeliveryStore,
  type ReceiverOptions,
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

const hopeless = new PermanentError("the customer is gone");

const givingUp: readonly (readonly [string, () => never | Promise<never>])[] = [
  [
    "throws",
    () => {
      throw hopeless;
    },
  ],
  ["rejects with", () => Promise.reject(hopeless)],
];

interface Parked {
  readonly error: unknown;
  readonly context: DeliveryContext;
}

/** An `onParked` that records the parked events. */
function parkingLot(): {
  readonly parked: Parked[];
  readonly onParked: ReceiverOptions["onParked"];
} {
  const parked: Parked[] = [];
  return { parked, onParked: (error, context) => void parked.push({ error, context }) };
}

describe.each(givingUp)("a handler that %s a PermanentError", (_, handler) => {
  const on = { "*": handler };

  test("ends as parked (200) when onParked resolves, and no attempt runs the event again", async () => {
    const { parked, onParked } = parkingLot();
    const calls: NotedCall[] = [];
    const { receiver, lines, reports } = timed({ on, onParked }, (store) => noting(calls, store));
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200, run: 1 });
    expect(parked).toMatchObject([
      { error: hopeless, context: { deliveryId: "dlv_1", type: "email.sent", run: 1 } },
    ]);
    expect(operationsOf(calls)).toEqual(["claim", "release parked"]);

    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(parked).toHaveLength(1);
    expect(operationsOf(calls)).toEqual(["claim", "release parked", "claim"]);
    expect(reports).toMatchObject([{ code: "parked" }, { code: "parked" }]);
    // An event that onParked received is not a failure.
    expect(lines).toEqual([]);
  });

  test("is also parked without onParked, and onHandlerError receives the error", async () => {
    const { receiver, lines } = timed({ on });
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(lines).toEqual(["handler: PermanentError: the customer is gone"]);
    expect((await send(receiver)).code).toBe("parked");
    expect(lines).toHaveLength(1);
  });

  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
  ])("is tried again if onParked %s", async (__, onParked) => {
    const calls: NotedCall[] = [];
    const { receiver, lines } = timed({ on, onParked }, (store) => noting(calls, store));
    expect(await send(receiver)).toMatchObject({
      code: "handler_failed",
      status: 500,
      retryAfterMs: undefined,
    });
    expect(operationsOf(calls)).toEqual(["claim", "release failed"]);
    expect(lines).toEqual(["handler: Error: disk full"]);
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", run: 2 });
  });

  test("is parked even if onHandlerError fails", async () => {
    const { receiver, lines } = timed({
      on,
      onHandlerError: () => Promise.reject(new Error("no logger")),
    });
    expect((await send(receiver)).code).toBe("parked");
    await settled();
    expect(lines).toEqual(["svc-webhooks internal error: no logger"]);
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
    let context: DeliveryContext | undefined;
    const { receiver, clock, reports } = timed({
      on,
      onParked(__, given) {
        context = given;
        return opened;
      },
    });
    const responding = send(receiver);
    await clock.advance(10 * second - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(await responding).toMatchObject({ code: "handler_timeout", status: 503 });
    expect(context?.signal.reason).toMatchObject({ code: "handler_timeout" });
    await clock.advance(80 * second);
    expect((await send(receiver)).code).toBe("in_flight");

    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "parked", status: 200 });
    expect((await send(receiver)).code).toBe("parked");
    expect(clock.timers).toBe(0);
  });

  test("aborts the signal of onParked if the lease is lost meanwhile", async () => {
    let context: DeliveryContext | undefined;
    const { receiver, clock } = timed(
      {
        on,
        handlerTimeoutMs: 25 * second,
        onParked(__, given) {
          context = given;
          return never();
        },
      },
      () => ({ extend: () => false }),
    );
    void send(receiver);
    await clock.advance(10 * second);
    expect(context?.signal.reason).toMatchObject({ code: "lease_lost" });
  });
});

test("onParked only has the time that the handler left", async () => {
  const work = gate();
  const { receiver, clock, reports } = timed({ on: { "*": () => work.opened }, onParked: never });
  void send(receiver);
  await clock.advance(7 * second);
  work.fail(hopeless);
  await clock.advance(3 * second - 1);
  expect(reports).toEqual([]);
  await clock.advance(1);
  expect(reports).toMatchObject([{ code: "handler_timeout", runMs: 10 * second }]);
});

test("a run that throws a PermanentError after its response is parked, with a second report", async () => {
  const work = gate();
  const { parked, onParked } = parkingLot();
  const { receiver, clock, reports } = timed({ on: { "*": () => work.opened }, onParked });
  void send(receiver);
  await clock.advance(20 * second);
  work.fail(hopeless);
  await settled();
  expect(parked).toMatchObject([{ error: hopeless }]);
  expect(reports).toMatchObject([
    { phase: "answered", code: "handler_timeout" },
    { phase: "settled", code: "parked", status: 200 },
  ]);
});

test("a parking that the store could not record is retried in the background", async () => {
  const calls: NotedCall[] = [];
  const { parked, onParked } = parkingLot();
  let failures = 2;
  const { receiver, clock } = timed(
    { on: { "*": () => Promise.reject(hopeless) }, onParked },
    (store) =>
      noting(calls, {
        ...store,
        release(...call) {
          if (failures-- > 0) throw new Error("connection reset");
          return store.release(...call);
        },
      }),
  );
  expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
  expect((await send(receiver)).code).toBe("in_flight");
  await clock.advance(2 * second);
  expect((await send(receiver)).code).toBe("parked");
  expect(operationsOf(calls).filter((operation) => operation === "release parked")).toHaveLength(3);
  expect(parked).toHaveLength(1);
});

describe("an error of another library with the same code is an ordinary failure:", () => {
  test.each(["permanent_error", "retry_error"])("%s", async (code) => {
    const { parked, onParked } = parkingLot();
    const theirs = Object.assign(new Error("mailbox full"), { code, retryAfterMs: 7_000 });
    const { receiver } = timed({ on: { "*": () => Promise.reject(theirs) }, onParked });
    const outcome = await send(receiver);
    expect(outcome.code).toBe("handler_failed");
    expect(outcome.retryAfterMs).toBeUndefined();
    expect(parked).toEqual([]);
  });
});

describe("errors of another copy of this package are recognized by their brand:", () => {
  const copyOf = (code: string, more: object = {}) =>
    Object.assign(new Error("from elsewhere"), { [Symbol.for("svc-webhooks.error")]: code }, more);

  test("permanent_error parks", async () => {
    const { parked, onParked } = parkingLot();
    const foreign = copyOf("permanent_error");
    const { receiver } = timed({ on: { "*": () => Promise.reject(foreign) }, onParked });
    expect((await send(receiver)).code).toBe("parked");
    expect(parked).toMatchObject([{ error: foreign }]);
  });

  test("retry_error sets the Retry-After", async () => {
    const foreign = copyOf("retry_error", { retryAfterMs: 7_000 });
    const { receiver } = timed({ on: { "*": () => Promise.reject(foreign) } });
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", retryAfterMs: 7_000 });
  });
});

test.each<[string, unknown]>([
  ["undefined", undefined],
  ["null", null],
  ["a string", "permanent_error"],
  ["a number", 42],
  ["an object without a prototype", Object.create(null)],
  ["an error with another code", Object.assign(new Error("no"), { code: "ECONNRESET" })],
  ["an error with retryAfterMs alone", Object.assign(new Error("no"), { retryAfterMs: 5_000 })],
  [
    "an error with a code that is not a string",
    Object.assign(new Error("no"), { code: ["retry_error"] }),
  ],
])("%s thrown by a handler is an ordinary failure", async (_, thrown) => {
  const { parked, onParked } = parkingLot();
  const errors: unknown[] = [];
  const { receiver } = timed({
    on: {
      "*": () => {
        throw thrown;
      },
    },
    onParked,
    onHandlerError: (error) => errors.push(error),
  });
  expect(await send(receiver)).toMatchObject({ code: "handler_failed", retryAfterMs: undefined });
  expect(errors).toEqual([thrown]);
  expect(parked).toEqual([]);
});

test.each<[string, () => unknown]>([
  ["synchronously", () => {}],
  ["later", () => settled()],
])("an unreadable error, thrown %s, is an ordinary failure", async (_, lead) => {
  const { proxy: untouchable, revoke } = Proxy.revocable(new Error("no"), {});
  revoke();
  const { receiver, clock } = timed({
    on: {
      "*": (__, { run }) => {
        if (run !== 1) return undefined;
        const before = lead();
        const fail = () => {
          throw untouchable;
        };
        return before instanceof Promise ? before.then(fail) : fail();
      },
    },
  });
  expect((await send(receiver)).status).toBe(500);
  expect(clock.timers).toBe(0);
  expect(await send(receiver)).toMatchObject({ code: "processed", run: 2 });
});

describe("RetryError", () => {
  /** The `Retry-After` of the response. */
  async function retryAfter(retryAfterMs: number): Promise<string | undefined> {
    const { receiver } = timed({
      on: { "*": () => Promise.reject(new RetryError({ retryAfterMs })) },
    });
    const outcome = await send(receiver);
    expect(outcome).toMatchObject({ code: "handler_failed", status: 500, retryAfterMs });
    return answer(outcome).headers["Retry-After"];
  }

  test.each([
    [1, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [59_999.5, "60"],
    [86_400_000, "86400"],
    [86_400_001, "86400"],
    [Number.MAX_VALUE, "86400"],
    [Infinity, "86400"],
  ])("of %d ms is sent as %s s, rounded up, at most a day", async (ms, seconds) => {
    expect(await retryAfter(ms)).toBe(seconds);
  });

  test.each([0, -1, -1_000, -86_400_000, -Infinity, Number.NaN])(
    "of %d ms is sent as 1 s",
    async (ms) => {
      expect(await retryAfter(ms)).toBe("1");
    },
  );

  test("is otherwise an ordinary failure, reported and tried again", async () => {
    const calls: NotedCall[] = [];
    const cause = new Error("rate limited");
    const error = new RetryError({ retryAfterMs: 2_000, cause });
    const errors: unknown[] = [];
    const { receiver } = timed(
      { on: { "*": () => Promise.reject(error) }, onHandlerError: (thrown) => errors.push(thrown) },
      (store) => noting(calls, store),
    );
    await send(receiver);
    expect(errors).toEqual([error]);
    expect(error).toMatchObject({ cause, message: "retry after 2000 ms", code: "retry_error" });
    expect(operationsOf(calls)).toEqual(["claim", "release failed"]);
    expect(await send(receiver)).toMatchObject({ run: 2 });
  });

  test("from onParked is a failure, and the event is not parked", async () => {
    const { receiver } = timed({
      on: { "*": () => Promise.reject(hopeless) },
      onParked: () => Promise.reject(new RetryError({ retryAfterMs: 60_000 })),
    });
    expect((await send(receiver)).code).toBe("handler_failed");
  });
});

describe("maxRuns", () => {
  const failing = (runs: unknown[]): ReceiverOptions["on"] => ({
    "*": (_, { run }) => {
      runs.push(run);
      throw new Error("no");
    },
  });

  test.each([1, 2, 5])(
    "of %d parks the event at the next claim, without running the handler",
    async (maxRuns) => {
      const runs: unknown[] = [];
      const { parked, onParked } = parkingLot();
      const { receiver, lines } = timed({ on: failing(runs), maxRuns, onParked });
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
    const { receiver } = timed({
      on: {
        "*": (_, { run }) => {
          if (run !== 3) throw new Error("no");
        },
      },
      maxRuns: 3,
      onParked,
    });
    const outcomes = [await send(receiver), await send(receiver), await send(receiver)];
    expect(outcomes.map(({ code }) => code)).toEqual([
      "handler_failed",
      "handler_failed",
      "processed",
    ]);
    expect((await send(receiver)).code).toBe("duplicate");
    expect(parked).toEqual([]);
  });

  test("runs onParked again at the next attempt if it failed, and never the handler", async () => {
    const runs: unknown[] = [];
    let refusals = 2;
    const { receiver } = timed({
      on: failing(runs),
      maxRuns: 1,
      onParked() {
        if (refusals-- > 0) throw new Error("disk full");
      },
    });
    const codes: string[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) codes.push((await send(receiver)).code);
    expect(codes).toEqual(["handler_failed", "handler_failed", "handler_failed", "parked"]);
    expect(runs).toEqual([1]);
  });

  test("counts runs whose event the schema rejected", async () => {
    const { parked, onParked } = parkingLot();
    const events = { "email.sent": schemaBy(() => ({ issues: [{ message: "no" }] })) };
    const { receiver } = timed({ events, maxRuns: 2, onParked });
    const codes: string[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) codes.push((await send(receiver)).code);
    expect(codes).toEqual(["event_invalid", "event_invalid", "parked"]);
    expect(parked).toHaveLength(1);
  });

  test("counts runs whose lease expired without a release", async () => {
    const { parked, onParked } = parkingLot();
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const runs: unknown[] = [];
    for (const _ of ["first", "second"]) {
      // Its own clock stands still, so nothing extends the lease, as if the process had ended.
      const dying = timed({
        store,
        maxRuns: 2,
        onParked,
        on: {
          "*": (__, { run }) => {
            runs.push(run);
            return never();
          },
        },
      });
      void send(dying.receiver);
      await settled();
      clock.jump(30 * second);
    }
    const heir = observed({ clock, store, maxRuns: 2, onParked });
    expect(await send(heir.receiver)).toMatchObject({ code: "parked", run: 3 });
    expect(runs).toEqual([1, 2]);
    expect(parked).toMatchObject([{ context: { run: 3 } }]);
  });

  test("does not count copies that were refused as in_flight", async () => {
    const { parked, onParked } = parkingLot();
    const work = gate();
    const { receiver } = timed({ on: { "*": () => work.opened }, maxRuns: 1, onParked });
    const first = send(receiver);
    await settled();
    for (let copy = 0; copy < 5; copy += 1) expect((await send(receiver)).code).toBe("in_flight");
    work.open();
    expect(await first).toMatchObject({ code: "processed", run: 1 });
    expect(parked).toEqual([]);
  });

  test("that is never exceeded parks nothing, after any number of deliveries", async () => {
    const runs: unknown[] = [];
    const { parked, onParked } = parkingLot();
    const { receiver } = timed({ on: failing(runs), onParked });
    for (let attempt = 0; attempt < 200; attempt += 1) await send(receiver);
    expect(runs).toHaveLength(200);
    expect(parked).toEqual([]);
  });

  describe.each<[string, (store: DeliveryStore, clock: FakeClock) => DeliveryStore["claim"]]>([
    [
      "grants claims but returns too late",
      (store, clock) =>
        async (...call) => {
          const taken = await store.claim(...call);
          await pause(clock, 2 * second);
          return taken;
        },
    ],
    [
      "grants claims too late",
      (store, clock) =>
        async (...call) => {
          await pause(clock, 2 * second);
          return store.claim(...call);
        },
    ],
    [
      "grants claims but never returns",
      (store) =>
        async (...call) => {
          await store.claim(...call);
          return never();
        },
    ],
  ])("with a store that %s", (_, slow) => {
    test("does not park a delivery whose handler did not run", async () => {
      const runs: unknown[] = [];
      const { parked, onParked } = parkingLot();
      let slowClaims = 10;
      const { receiver, clock } = timed(
        { on: { "*": (__, { run }) => runs.push(run) }, maxRuns: 1, onParked },
        (store, time) => ({
          claim: (...call) =>
            slowClaims-- > 0 ? slow(store, time)(...call) : store.claim(...call),
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
    });
  });
});
