import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import {
  memoryStore,
  PermanentError,
  type ClaimResult,
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
  send,
  timed,
  type NotedCall,
} from "./support.js";

const second = 1_000;

const down = () => Promise.reject(new Error("connection refused"));

/** A receiver with onStoreError "process", the calls of its store, and its handler's contexts. */
function processing(
  options: Partial<ReceiverOptions> = {},
  faults: (store: DeliveryStore, clock: FakeClock) => Partial<DeliveryStore> = () => ({
    claim: down,
  }),
) {
  const calls: NotedCall[] = [];
  const contexts: DeliveryContext[] = [];
  const bench = timed(
    { onStoreError: "process", on: { "*": (_, context) => contexts.push(context) }, ...options },
    (store, clock) => noting(calls, { ...store, ...faults(store, clock) }),
  );
  return { ...bench, contexts, operations: () => operationsOf(calls) };
}

test("by default nothing runs while the store is unavailable", async () => {
  for (const onStoreError of [undefined, "refuse"] as const) {
    const { receiver, contexts, operations } = processing({ onStoreError });
    expect((await send(receiver)).code).toBe("store_unavailable");
    await settled();
    expect(contexts).toEqual([]);
    expect(operations()).toEqual(["claim", "release unused"]);
  }
});

describe('with onStoreError "process"', () => {
  test("and a working store, nothing changes", async () => {
    const { receiver, contexts, operations } = processing({}, () => ({}));
    expect(await send(receiver)).toMatchObject({ code: "processed", dedupe: "verified", run: 1 });
    expect(contexts).toMatchObject([{ dedupe: "verified", run: 1 }]);
    expect(operations()).toEqual(["claim", "complete"]);
    expect((await send(receiver)).code).toBe("duplicate");
  });

  test.each<[string, DeliveryStore["claim"]]>([
    [
      "throws",
      () => {
        throw new Error("connection refused");
      },
    ],
    ["rejects", down],
    ["returns nonsense", () => ({ status: "OK" }) as unknown as ClaimResult],
  ])("and a claim that %s, the handler runs with dedupe unverified", async (_, claim) => {
    const { receiver, contexts, reports, operations, clock } = processing({}, () => ({ claim }));
    const outcome = await send(receiver);
    expect(outcome).toMatchObject({ code: "processed", status: 200, dedupe: "unverified" });
    expect(contexts).toMatchObject([
      {
        dedupe: "unverified",
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
      },
    ]);
    for (const { run, fence } of [outcome, ...contexts, ...reports]) {
      expect([run, fence]).toEqual([undefined, undefined]);
    }
    expect(reports).toMatchObject([{ dedupe: "unverified" }]);
    await settled();
    expect(operations()).toEqual(["claim", "complete"]);
    expect(clock.timers).toBe(0);
  });

  test("and a claim that hangs, the handler starts at the claim's deadline", async () => {
    const { receiver, contexts, clock, operations } = processing({}, () => ({ claim: never }));
    const responding = send(receiver);
    await clock.advance(1_500 - 1);
    expect(contexts).toEqual([]);
    await clock.advance(1);
    expect(await responding).toMatchObject({ code: "processed", dedupe: "unverified" });
    expect(operations()).toEqual(["claim", "complete"]);
  });

  test("a delivery completed while only claims fail is then a duplicate", async () => {
    let failures = 1;
    const { receiver, contexts } = processing({}, (store) => ({
      claim: (...call) => (failures-- > 0 ? down() : store.claim(...call)),
    }));
    expect(await send(receiver)).toMatchObject({ code: "processed", dedupe: "unverified" });
    const copy = await send(receiver);
    expect(copy.code).toBe("duplicate");
    expect(copy.dedupe).toBeUndefined();
    expect(contexts).toHaveLength(1);
  });

  test("a completion that also fails is retried in the background until the store is available", async () => {
    let isDown = true;
    const { receiver, clock, operations, lines } = processing({}, (store) => ({
      claim: (...call) => (isDown ? down() : store.claim(...call)),
      complete: (...call) => (isDown ? down() : store.complete(...call)),
    }));
    expect(await send(receiver)).toMatchObject({
      code: "processed",
      status: 200,
      warnings: ["complete_failed"],
    });
    expect(lines).toEqual(["svc-webhooks internal error: connection refused"]);
    await clock.advance(8 * second);
    isDown = false;
    await clock.advance(8 * second);
    expect((await send(receiver)).code).toBe("duplicate");
    expect(operations().filter((operation) => operation.startsWith("release"))).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])(
    "a handler that %s ends as a 500, and a claim that may have been granted is released",
    async (_, handler) => {
      let lost = 1;
      const { receiver, operations } = processing({ on: { "*": handler } }, (store) => ({
        async claim(...call) {
          const taken = await store.claim(...call);
          return lost-- > 0 ? down() : taken;
        },
      }));
      expect(await send(receiver)).toMatchObject({ code: "handler_failed", dedupe: "unverified" });
      expect(operations()).toEqual(["claim", "release failed"]);
      expect(await send(receiver)).toMatchObject({
        code: "handler_failed",
        dedupe: "verified",
        run: 2,
      });
    },
  );

  test("a claim that is granted late is not released while the handler runs", async () => {
    const { opened, open } = gate();
    const { receiver, clock, operations } = processing(
      { on: { "*": () => opened } },
      (store, time) => ({
        async claim(...call) {
          const taken = await store.claim(...call);
          await pause(time, 3 * second);
          return taken;
        },
      }),
    );
    const responding = send(receiver);
    await clock.advance(4 * second);
    expect(operations()).toEqual(["claim"]);
    open();
    expect(await responding).toMatchObject({ code: "processed", dedupe: "unverified" });
    expect(operations()).toEqual(["claim", "complete"]);
  });

  test("a run without a claim neither renews nor loses a lease", async () => {
    const { opened, open } = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver, clock, reports, operations } = processing({
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return opened;
        },
      },
    });
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect(await responding).toMatchObject({ code: "handler_timeout", dedupe: "unverified" });
    await clock.advance(120 * second);
    expect(operations()).toEqual(["claim"]);
    expect(clock.timers).toBe(0);

    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed", warnings: [] });
    expect(contexts.map(({ signal }) => signal.reason as unknown)).toMatchObject([
      { code: "handler_timeout" },
    ]);
    expect(operations()).toEqual(["claim", "complete"]);
  });

  test("maxRuns does not park a run that cannot be counted", async () => {
    const parked: unknown[] = [];
    let isDown = false;
    const { receiver, operations } = processing(
      {
        maxRuns: 1,
        onParked: (error) => parked.push(error),
        on: { "*": () => Promise.reject(new Error("no")) },
      },
      (store) => ({ claim: (...call) => (isDown ? down() : store.claim(...call)) }),
    );
    expect((await send(receiver)).code).toBe("handler_failed");
    isDown = true;
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await send(receiver)).code).toBe("handler_failed");
    }
    expect(parked).toEqual([]);
    expect(new Set(operations())).toEqual(new Set(["claim", "release failed"]));
    isDown = false;
    expect((await send(receiver)).code).toBe("parked");
  });

  test("a PermanentError still passes the event to onParked", async () => {
    const parked: DeliveryContext[] = [];
    const { receiver, operations } = processing({
      onParked: (_, context) => parked.push(context),
      on: { "*": () => Promise.reject(new PermanentError("no")) },
    });
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(parked).toMatchObject([{ dedupe: "unverified" }]);
    expect(operations()).toEqual(["claim", "release parked"]);
  });

  test("two copies may run concurrently, with the same idempotencyKey", async () => {
    const { opened, open } = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver } = processing({
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return opened;
        },
      },
    });
    const sent = [send(receiver), send(receiver)];
    await settled();
    expect(new Set(contexts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(contexts).toHaveLength(2);
    open();
    expect((await Promise.all(sent)).map(({ code }) => code)).toEqual(["processed", "processed"]);
  });

  test.each<[ClaimResult, string]>([
    [{ status: "busy", leaseLeftMs: 1_000 }, "in_flight"],
    [{ status: "done" }, "duplicate"],
    [{ status: "parked" }, "parked"],
  ])("a store that returns %o is trusted", async (result, code) => {
    const { receiver, contexts } = processing({}, () => ({ claim: () => result }));
    expect((await send(receiver)).code).toBe(code);
    expect(contexts).toEqual([]);
  });

  test("a full memory store counts as unavailable", async () => {
    const clock = fakeClock();
    const { opened, open } = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver } = observed({
      clock,
      store: memoryStore({ clock, maxRecords: 1 }),
      onStoreError: "process",
      on: {
        "*": (_, context) => {
          contexts.push(context);
          return opened;
        },
      },
    });
    const first = send(receiver);
    await settled();
    const other = send(receiver, undefined, { "x-svc-delivery-id": "dlv_2" });
    await settled();
    expect(contexts).toMatchObject([{ dedupe: "verified" }, { dedupe: "unverified" }]);
    open();
    expect((await Promise.all([first, other])).map(({ code }) => code)).toEqual([
      "processed",
      "processed",
    ]);
  });

  test("drain waits for such a run like any other", async () => {
    const { opened, open } = gate();
    const { receiver, clock } = processing({ on: { "*": () => opened } });
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect((await responding).code).toBe("handler_timeout");
    const left: number[] = [];
    void receiver.drain({ deadlineMs: 60 * second }).then((count) => left.push(count));
    await settled();
    expect(left).toEqual([]);
    open();
    await settled();
    expect(left).toEqual([0]);
  });
});
