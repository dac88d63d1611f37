import { gate } from "@svc-webhooks/kit/gate";
import { collectGarbage } from "@svc-webhooks/kit/garbage";
import { describe, expect, test } from "vitest";
import { createGuard, PermanentError, type HandlerResult } from "../src/index.js";

const guarding = () => createGuard({ name: "test", sources: ["a"], log: () => {} });

describe("a guard", () => {
  test("runs the handler of the call, once for each event", async () => {
    const guard = guarding();
    const seen: unknown[] = [];
    const run = (parts: object) =>
      guard.run({ source: "a", id: "evt_1", ...parts }, (event, { type, source, run: count }) =>
        seen.push([event, type, source, count]),
      );
    expect(await run({})).toMatchObject({ code: "processed", source: "a", type: "event" });
    expect(await run({})).toHaveProperty("code", "duplicate");
    await run({ id: "evt_2", type: undefined, body: undefined });
    await run({ id: "evt_3", type: "invoice.paid", body: { type: "other", n: 1 } });
    expect(seen).toEqual([
      [{ type: "event" }, "event", "a", 1],
      [{ type: "event" }, "event", "a", 1],
      [{ type: "invoice.paid", n: 1 }, "invoice.paid", "a", 1],
    ]);
  });

  test("runs the handler of each call, even if they pass the same bytes at the same time", async () => {
    const guard = guarding();
    const body = new TextEncoder().encode("{}");
    const { opened, open } = gate();
    const ran: string[] = [];
    const runs = ["1", "2", "3"].map((id) =>
      guard.run({ source: "a", id, body }, async () => {
        await opened;
        ran.push(id);
      }),
    );
    open();
    await Promise.all(runs);
    expect(ran.toSorted()).toEqual(["1", "2", "3"]);
  });

  test("repeats a failed run with the handler of the next call", async () => {
    const guard = guarding();
    const event = { source: "a", id: "evt_1" } as const;
    const failing = () => guard.run(event, (): HandlerResult => Promise.reject(new Error("no")));
    expect(await failing()).toMatchObject({ code: "handler_failed", run: 1 });
    expect(await guard.run(event, () => {})).toMatchObject({ code: "processed", run: 2 });
  });

  test("parks an event whose handler throws a PermanentError", async () => {
    const guard = guarding();
    const event = { source: "a", id: "evt_1" } as const;
    const parking = () => {
      throw new PermanentError("no such customer");
    };
    expect(await guard.run(event, parking)).toMatchObject({ code: "parked", status: 200 });
    expect(await guard.peek([{ deliveryId: "evt_1" }])).toEqual(["parked"]);
    expect(await guard.run(event, () => {})).toHaveProperty("code", "parked");
    expect(await guard.forget({ deliveryId: "evt_1" })).toBe(true);
    expect(await guard.run(event, () => {})).toHaveProperty("code", "processed");
  });

  test("does not run, and does not keep, what is not a function", async () => {
    const guard = guarding();
    const event = { source: "a", id: "evt_1", type: "x", body: {} } as const;
    const outcome = await guard.run(event, undefined as never);
    expect(outcome).toHaveProperty("code", "handler_failed");
    expect(await guard.peek([{ deliveryId: "evt_1" }])).toEqual(["failed"]);
  });

  test('needs a body with `dedupeBy: "body"`, because events without one would be copies', async () => {
    const guard = createGuard({ sources: ["a"], dedupeBy: "body", log: () => {} });
    const run = (parts: object) => guard.run({ source: "a", id: "1", ...parts }, () => {});
    expect(await run({})).toHaveProperty("code", "malformed_body");
    expect(await run({ body: {} })).toHaveProperty("code", "processed");
  });

  test("keeps no handler after its call", async () => {
    const guard = guarding();
    const handlers: WeakRef<object>[] = [];
    for (let id = 0; id < 10; id += 1) {
      const handler = () => {};
      handlers.push(new WeakRef(handler));
      await guard.run({ source: "a", id: `${id}` }, handler);
    }
    await new Promise(setImmediate);
    collectGarbage();
    expect(handlers.filter((handler) => handler.deref()).length).toBeLessThanOrEqual(1);
  });
});
