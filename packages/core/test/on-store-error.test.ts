import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import { memoryStore, PermanentError, type ClaimResult, type DeliveryStore } from "../src/index.js";
import { bothWays, losingFirstResult, never, pause, recorded, second, send } from "./support.js";

const down = () => Promise.reject(new Error("connection refused"));

/** A recorded receiver with onStoreError "process", whose claims fail by default. */
const processing = (
  options: Parameters<typeof recorded>[0] = {},
  faults: Parameters<typeof recorded>[1] = () => ({ claim: down }),
) => recorded({ onStoreError: "process", ...options }, faults);

test('with onStoreError "refuse", the default, nothing runs while the store is unavailable', async () => {
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

  test.each<readonly [string, DeliveryStore["claim"]]>([
    ...bothWays(new Error("connection refused")),
    ["returns nonsense", () => ({ status: "OK" }) as unknown as ClaimResult],
  ])("and a claim that %s, the handler runs with dedupe unverified", async (_, claim) => {
    const { receiver, contexts, reports, operations, clock } = processing({}, () => ({ claim }));
    const outcome = await send(receiver);
    expect(outcome).toMatchObject({ code: "processed", status: 200 });
    expect(contexts[0]?.idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
    const unverified = { dedupe: "unverified", run: undefined, fence: undefined };
    for (const { dedupe, run, fence } of [outcome, ...contexts, ...reports]) {
      expect({ dedupe, run, fence }).toEqual(unverified);
    }
    expect([contexts.length, reports.length]).toEqual([1, 1]);
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
    let isDown = true;
    const { receiver, contexts } = processing({}, (store) => ({
      claim: (...call) => (isDown ? down() : store.claim(...call)),
    }));
    expect(await send(receiver)).toMatchObject({ code: "processed", dedupe: "unverified" });
    isDown = false;
    const { code, dedupe } = await send(receiver);
    expect({ code, dedupe }).toEqual({ code: "duplicate", dedupe: undefined });
    expect(contexts).toHaveLength(1);
  });

  test("a completion that also fails is retried in the background until the store is available", async () => {
    let isDown = true;
    const { receiver, clock, operations, lines } = processing({}, (store) => ({
      claim: (...call) => (isDown ? down() : store.claim(...call)),
      complete: (...call) => (isDown ? down() : store.complete(...call)),
    }));
    const outcome = await send(receiver);
    expect(outcome).toMatchObject({ code: "processed", warnings: ["complete_failed"] });
    expect(lines).toEqual([expect.stringMatching(/ complete_failed: .*connection refused/)]);
    await clock.advance(8 * second);
    isDown = false;
    await clock.advance(8 * second);
    expect((await send(receiver)).code).toBe("duplicate");
    expect(new Set(operations())).toEqual(new Set(["claim", "complete"]));
    expect(clock.timers).toBe(0);
  });

  test.each(bothWays(new Error("no")))(
    "a handler that %s ends as a 500, and a claim that may have been granted is released",
    async (_, handle) => {
      const { receiver, operations } = processing({ handle }, losingFirstResult);
      const first = await send(receiver);
      expect(first).toMatchObject({ code: "handler_failed", status: 500, dedupe: "unverified" });
      expect(operations()).toEqual(["claim", "release failed"]);
      const next = await send(receiver);
      expect(next).toMatchObject({ code: "handler_failed", dedupe: "verified", run: 2 });
    },
  );

  test("a claim that is granted late is not released while the handler runs", async () => {
    const { opened, open } = gate();
    const { receiver, clock, operations } = processing({ handle: () => opened }, (store, time) => ({
      async claim(...call) {
        const taken = await store.claim(...call);
        await pause(time, 3 * second);
        return taken;
      },
    }));
    const responding = send(receiver);
    await clock.advance(4 * second);
    expect(operations()).toEqual(["claim"]);
    open();
    expect(await responding).toMatchObject({ code: "processed", dedupe: "unverified" });
    expect(operations()).toEqual(["claim", "complete"]);
  });

  test("a run without a claim neither renews nor loses a lease", async () => {
    const { opened, open } = gate();
    const { receiver, clock, contexts, reports, operations } = processing({ handle: () => opened });
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect(await responding).toMatchObject({ code: "handler_timeout", dedupe: "unverified" });
    await clock.advance(120 * second);
    expect(operations()).toEqual(["claim"]);
    expect(clock.timers).toBe(0);

    open();
    await settled();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed", warnings: [] });
    expect(contexts[0]?.signal.reason).toMatchObject({ code: "handler_timeout" });
    expect(operations()).toEqual(["claim", "complete"]);
  });

  test("maxRuns does not park a run that cannot be counted", async () => {
    const parked: unknown[] = [];
    let isDown = false;
    const { receiver, operations } = processing(
      {
        maxRuns: 1,
        onParked: (error) => parked.push(error),
        handle: () => Promise.reject(new Error("no")),
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
    const parked: unknown[] = [];
    const { receiver, operations } = processing({
      onParked: (_, context) => parked.push(context),
      handle: () => Promise.reject(new PermanentError("no")),
    });
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200 });
    expect(parked).toMatchObject([{ dedupe: "unverified" }]);
    expect(operations()).toEqual(["claim", "release parked"]);
  });

  test("two copies may run concurrently, with the same idempotencyKey", async () => {
    const { opened, open } = gate();
    const { receiver, contexts } = processing({ handle: () => opened });
    const sent = [send(receiver), send(receiver)];
    await settled();
    expect(contexts).toHaveLength(2);
    expect(contexts[0]?.idempotencyKey).toBe(contexts[1]?.idempotencyKey);
    open();
    expect(await Promise.all(sent)).toMatchObject([{ code: "processed" }, { code: "processed" }]);
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
    const { opened, open } = gate();
    const store = memoryStore({ maxRecords: 1 });
    const { receiver, contexts } = processing({ store, handle: () => opened });
    const sent = [send(receiver), send(receiver, undefined, { "x-svc-delivery-id": "dlv_2" })];
    await settled();
    expect(contexts).toMatchObject([{ dedupe: "verified" }, { dedupe: "unverified" }]);
    open();
    expect(await Promise.all(sent)).toMatchObject([{ code: "processed" }, { code: "processed" }]);
  });

  test("drain waits for such a run like any other", async () => {
    const { opened, open } = gate();
    const { receiver, clock } = processing({ handle: () => opened });
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
