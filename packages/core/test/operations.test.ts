import { AsyncLocalStorage } from "node:async_hooks";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  PermanentError,
  type DedupeBy,
  type Receiver,
  type ReceiverOptions,
  type StoredDelivery,
} from "../src/index.js";
import { codeOf } from "../src/adapter.js";
import {
  bothWays,
  codesOf,
  failsFirst,
  failsUnlessRun,
  gated,
  never,
  observed,
  second,
  send,
  timed,
} from "./support.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const eventId: ReceiverOptions["eventId"] = ({ id }) => id as string | undefined;
/** Records the timers that `during` starts, and no others of this process. */
function ownTimers() {
  const timers: NodeJS.Timeout[] = [];
  const context = new AsyncLocalStorage<NodeJS.Timeout[]>();
  for (const name of ["setTimeout", "setInterval"] as const) {
    const start = globalThis[name];
    const counting = (run: () => void, ms?: number) => {
      const timer = start(run, ms);
      context.getStore()?.push(timer);
      return timer;
    };
    const spy = vi.spyOn(globalThis, name).mockImplementation(counting);
    onTestFinished(() => spy.mockRestore());
  }
  // A cleared timer still returns true from `hasRef`.
  const clears = (["clearTimeout", "clearInterval"] as const).map((name) => {
    const spy = vi.spyOn(globalThis, name);
    onTestFinished(() => spy.mockRestore());
    return spy;
  });
  const isCleared = (timer: unknown) =>
    clears.some(({ mock }) => mock.calls.some(([one]) => one === timer));
  return {
    during: (work: () => Promise<void>) => context.run(timers, work),
    /** The number of timers that keep the process alive. */
    keeping: () => timers.filter((timer) => timer.hasRef() && !isCleared(timer)).length,
  };
}

const invalid = (option: string) => ({
  name: "ConfigError",
  code: "invalid_option",
  option,
});

describe.each<[DedupeBy, Partial<ReceiverOptions>]>([
  ["delivery", {}],
  ["event", { dedupeBy: "event", eventId }],
  ["body", { dedupeBy: "body" }],
])("forget, with dedupeBy %s,", (dedupeBy, options) => {
  const body = eventBody("email.sent", { id: "evt_1" });
  const target = { deliveryId: "dlv_1", body: bytes(body) };

  test("lets a done delivery run again", async () => {
    const { receiver } = timed(options);
    expect(await codesOf(receiver, 2, body)).toEqual(["processed", "duplicate"]);
    expect(await receiver.forget(target)).toBe(true);
    expect(await send(receiver, body)).toMatchObject({ code: "processed", run: 1 });
  });

  test("lets a parked delivery run again from the delivery that onParked stored", async () => {
    const kept: StoredDelivery[] = [];
    const { receiver } = timed({
      ...options,
      on: {
        "*": () => {
          if (kept.length === 0) throw new PermanentError("no such customer");
        },
      },
      onParked: (_, { delivery }) => kept.push(delivery),
    });
    expect((await send(receiver, body)).code).toBe("parked");
    const [delivery] = kept;
    if (!delivery) throw new Error("nothing was kept");
    expect((await receiver.receive(delivery)).code).toBe("parked");

    const deliveryId = delivery.headers["x-svc-delivery-id"] ?? "";
    expect(await receiver.forget({ deliveryId, body: delivery.body })).toBe(true);
    expect(await receiver.receive(delivery)).toMatchObject({ code: "processed", run: 1 });
    expect((await receiver.receive(delivery)).code).toBe("duplicate");
  });

  test("lets a failed delivery start again from its first run", async () => {
    const { receiver } = timed({ ...options, on: { "*": failsUnlessRun(2) } });
    await send(receiver, body);
    expect(await receiver.forget(target)).toBe(true);
    expect(await send(receiver, body)).toMatchObject({ code: "handler_failed", run: 1 });
    expect(await send(receiver, body)).toMatchObject({ code: "processed", run: 2 });
  });

  test("returns false for a running delivery and leaves it unchanged", async () => {
    const { receiver, finish } = gated(options);
    const running = send(receiver, body);
    await settled();
    expect(await receiver.forget(target)).toBe(false);
    expect((await send(receiver, body)).code).toBe("in_flight");
    await finish();
    expect((await running).code).toBe("processed");
    expect((await send(receiver, body)).code).toBe("duplicate");
  });

  test("returns false if there is no record", async () => {
    const { receiver } = timed(options);
    await send(receiver, body);
    const other = bytes(eventBody("email.sent", { id: "evt_2" }));
    expect(await receiver.forget({ deliveryId: "dlv_2", body: other })).toBe(false);
    expect((await send(receiver, body)).code).toBe("duplicate");
    expect(await receiver.forget(target)).toBe(true);
    expect(await receiver.forget(target)).toBe(false);
  });

  test("only affects the receiver's own name", async () => {
    const { receiver, store, clock } = timed({ ...options, name: "billing" });
    await send(receiver, body);
    const { receiver: other } = observed({ ...options, store, clock, name: "mailing" });
    expect(await other.forget(target)).toBe(false);
    expect((await send(receiver, body)).code).toBe("duplicate");
  });

  test.each<[string, object, string]>([
    ["a missing id", { deliveryId: undefined }, "deliveryId"],
    ["an empty id", { deliveryId: "" }, "deliveryId"],
    ["an id that is not a string", { deliveryId: 5 }, "deliveryId"],
    ["a body that is a string", { body }, "body"],
    ["a body that was parsed", { body: JSON.parse(body) as object }, "body"],
  ])("rejects %s", async (_, wrong, option) => {
    const forgotten = timed(options).receiver.forget({ ...target, ...wrong });
    await expect(forgotten).rejects.toMatchObject(invalid(option));
  });

  test.each(bothWays(new Error("connection reset")))(
    "rejects with the error of a store that %s",
    async (_, forget) => {
      const { receiver } = timed(options, () => ({ forget }));
      await expect(receiver.forget(target)).rejects.toThrow("connection reset");
    },
  );

  test("has the deadline of a release, and aborts the store's signal", async () => {
    const signals: AbortSignal[] = [];
    const { receiver, clock } = timed(options, () => ({
      forget(_, { signal }) {
        signals.push(signal);
        return never();
      },
    }));
    const forgotten = receiver.forget(target).catch(codeOf);
    await clock.advance(1_500 - 1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(1);
    expect(await forgotten).toBe("store_timeout");
    expect(signals).toMatchObject([{ aborted: true, reason: { code: "deadline" } }]);
    expect(clock.timers).toBe(0);
  });

  test.each<[string, object]>([
    ["no body", {}],
    ["an undefined body", { body: undefined }],
    ["an empty body", { body: new Uint8Array() }],
  ])("accepts %s only if the record's key does not derive from it", async (_, bodyless) => {
    const { receiver } = timed(options);
    await send(receiver, body);
    const forgotten = receiver.forget({ deliveryId: "dlv_1", ...bodyless });
    if (dedupeBy === "delivery") expect(await forgotten).toBe(true);
    else await expect(forgotten).rejects.toMatchObject(invalid("body"));
    const code = dedupeBy === "delivery" ? "processed" : "duplicate";
    expect((await send(receiver, body)).code).toBe(code);
  });
});

describe("forget by event", () => {
  const options: Partial<ReceiverOptions> = { dedupeBy: "event", eventId };

  test.each([
    ["is not JSON", "{"],
    ["has no type", `{"id":"evt_1"}`],
    ["has no event id", eventBody()],
    ["has an empty event id", eventBody("email.sent", { id: "" })],
  ])("rejects a body that %s", async (_, body) => {
    const forgotten = timed(options).receiver.forget({ deliveryId: "dlv_1", body: bytes(body) });
    await expect(forgotten).rejects.toMatchObject(invalid("body"));
  });

  test("finds the record under any delivery id", async () => {
    const { receiver } = timed(options);
    const body = eventBody("email.sent", { id: "evt_1" });
    await send(receiver, body);
    expect(await receiver.forget({ deliveryId: "dlv_other", body: bytes(body) })).toBe(true);
    expect((await send(receiver, body)).code).toBe("processed");
  });
});

test("forget reads only its own bytes of a Buffer that is a view of a larger one", async () => {
  const { receiver } = timed({ dedupeBy: "body" });
  await send(receiver, eventBody());
  const padded = Buffer.from(`xx${eventBody()}yy`);
  const body = padded.subarray(2, padded.length - 2);
  expect(await receiver.forget({ deliveryId: "dlv_1", body })).toBe(true);
});

test("a run with a dead lease can be forgotten, and its later completion is kept", async () => {
  const { receiver, clock, finish } = gated({}, () => ({ extend: never }));
  void send(receiver);
  await clock.advance(30 * second - 1);
  expect(await receiver.forget({ deliveryId: "dlv_1" })).toBe(false);
  await clock.advance(1);
  expect(await receiver.forget({ deliveryId: "dlv_1" })).toBe(true);
  await finish();
  expect((await send(receiver)).code).toBe("duplicate");
});

describe("drain", () => {
  /** A receiver with one running delivery. */
  async function running() {
    const bench = gated();
    const responding = send(bench.receiver);
    await settled();
    return { ...bench, responding };
  }

  /** The results of a drain: empty until it resolves. */
  function draining(receiver: Receiver, deadlineMs = 60 * second) {
    const left: number[] = [];
    void receiver.drain({ deadlineMs }).then((count) => left.push(count));
    return left;
  }

  test("resolves immediately if every delivery has ended, with any outcome", async () => {
    const { receiver } = timed({
      on: { "email.*": () => {}, fails: () => Promise.reject(new Error("no")) },
    });
    expect(await receiver.drain({ deadlineMs: 60 * second })).toBe(0);
    await codesOf(receiver, 2);
    await send(receiver, eventBody("fails"), { "x-svc-delivery-id": "dlv_2" });
    await send(receiver, eventBody("other"));
    await send(receiver, eventBody(), {}, "whsec_wrong");
    await settled();
    expect(await receiver.drain({ deadlineMs: 0 })).toBe(0);
  });

  test("waits for running handlers and their completion", async () => {
    const completion = gate();
    const { receiver, finish } = gated({}, (store) => ({
      complete: (...call) => completion.opened.then(() => store.complete(...call)),
    }));
    const responding = send(receiver);
    await settled();
    const left = draining(receiver);
    await settled();
    expect(left).toEqual([]);
    await finish();
    expect(left).toEqual([]);
    completion.open();
    expect((await responding).code).toBe("processed");
    await settled();
    expect(left).toEqual([0]);
  });

  test.each(["resolves", "rejects"])(
    "waits for a run that outlived its response until it %s",
    async (end) => {
      const { receiver, clock, reports, finish, fail } = gated();
      const responding = send(receiver);
      await clock.advance(10 * second);
      expect((await responding).code).toBe("handler_timeout");
      const left = draining(receiver);
      await clock.advance(59 * second);
      expect(left).toEqual([]);
      await (end === "resolves" ? finish() : fail(new Error("no")));
      expect(left).toEqual([0]);
      expect(reports).toHaveLength(2);
    },
  );

  test("waits for a completion that is retried", async () => {
    const { receiver, clock } = timed({}, failsFirst(3, "complete"));
    expect(await send(receiver)).toMatchObject({ warnings: ["complete_failed"] });
    const left = draining(receiver);
    await clock.advance(second);
    expect(left).toEqual([]);
    await clock.advance(3 * second);
    expect(left).toEqual([0]);
  });

  test("does not wait for the release of a claim whose result was lost", async () => {
    const { receiver } = timed({}, () => ({
      claim: () => Promise.reject(new Error("connection reset")),
      release: never,
    }));
    expect((await send(receiver)).code).toBe("store_unavailable");
    expect(await receiver.drain({ deadlineMs: 60 * second })).toBe(0);
  });

  test("does not wait for a body that is still being read, because it is not verified", async () => {
    const { headers } = await signed();
    const { receiver } = timed();
    void receiver.receive({ method: "POST", headers, body: never });
    await settled();
    expect(await receiver.drain({ deadlineMs: 60 * second })).toBe(0);
  });

  test("refuses verified deliveries until it resolves, without calling the store or a handler", async () => {
    const { receiver, operations, contexts, finish } = await running();
    const left = draining(receiver);
    const next = { "x-svc-delivery-id": "dlv_2" };
    const refused = { code: "draining", status: 503, retryAfterMs: 5 * second };
    expect(await send(receiver, eventBody(), next)).toMatchObject(refused);
    const resumed = await receiver.resume(await signed(eventBody(), next));
    expect(resumed).toMatchObject({ code: "draining" });
    const forged = await send(receiver, eventBody(), next, "whsec_wrong");
    expect(forged.code).toBe("signature_mismatch");
    expect(operations()).toEqual(["claim"]);
    expect(contexts).toHaveLength(1);
    await finish();
    expect(left).toEqual([0]);
    expect((await send(receiver, eventBody(), next)).code).toBe("processed");
  });

  test("refuses deliveries afterwards too if it is final", async () => {
    const { receiver } = timed({ on: { "*": () => {} } });
    expect(await receiver.drain({ deadlineMs: 0, isFinal: true })).toBe(0);
    expect((await send(receiver)).code).toBe("draining");
    expect(await receiver.drain({ deadlineMs: 0 })).toBe(0);
    expect((await send(receiver)).code).toBe("draining");
  });

  test("resolves at its deadline to the number of pending deliveries, each counted once", async () => {
    const works = [gate(), gate()];
    const { receiver, clock } = timed({
      on: { "*": (_, { attempt }) => works[attempt ?? 0]?.opened },
    });
    for (const attempt of ["0", "1"]) {
      const headers = { "x-svc-delivery-id": `dlv_${attempt}`, "x-svc-attempt": attempt };
      void send(receiver, eventBody(), headers);
    }
    await settled();
    const left = draining(receiver, 5 * second);
    await clock.advance(5 * second - 1);
    expect(left).toEqual([]);
    await clock.advance(1);
    expect(left).toEqual([2]);

    // `drain` does not stop the runs: a later one counts those still pending.
    works[0]?.open();
    await settled();
    const later = draining(receiver, 0);
    await clock.advance(0);
    expect(later).toEqual([1]);
  });

  test("leaves no timer that keeps a process alive", async () => {
    const own = ownTimers();
    await own.during(async () => {
      const { opened, open } = gate();
      const { receiver } = observed({ on: { "*": () => opened } });
      void send(receiver);
      await settled();
      expect(own.keeping()).toBe(0);
      const left = draining(receiver);
      await settled();
      expect(own.keeping()).toBe(1);
      open();
      await settled();
      expect(left).toEqual([0]);
      expect(own.keeping()).toBe(0);
    });
  });

  test("that resolves does not end another one that is still waiting", async () => {
    const { receiver, clock, finish } = await running();
    const [short, long] = [draining(receiver, 1), draining(receiver)];
    await clock.advance(1);
    expect([short, long]).toEqual([[1], []]);
    expect((await send(receiver)).code).toBe("draining");
    await finish();
    expect([short, long]).toEqual([[1], [0]]);
  });

  test("only affects its own receiver", async () => {
    const { store, clock } = await running();
    const { receiver: other } = observed({ store, clock });
    expect(await other.drain({ deadlineMs: 60 * second })).toBe(0);
  });

  test.each([-1, 0.5, 2 ** 31, Number.NaN, Infinity, "5"])(
    "rejects a deadline of %s",
    async (wrong) => {
      const drained = timed().receiver.drain({ deadlineMs: wrong as number });
      await expect(drained).rejects.toMatchObject(invalid("deadlineMs"));
    },
  );
});
