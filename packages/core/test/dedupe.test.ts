import { eventBody } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { describe, expect, test } from "vitest";
import {
  answer,
  memoryStore,
  type DedupeBy,
  type DeliveryStore,
  type ReceiverOptions,
} from "../src/index.js";
import { noting, observed, send, timed, type NotedCall, type Observed } from "./support.js";

const byEvent: Partial<ReceiverOptions> = {
  dedupeBy: "event",
  eventId: ({ id }) => id as string | undefined,
};

const under = (deliveryId: string) => ({ "x-svc-delivery-id": deliveryId });

describe("by delivery, the default", () => {
  test("the second attempt is a duplicate, even with a different body", async () => {
    const { receiver } = observed();
    expect((await send(receiver)).code).toBe("processed");
    const rewritten = await send(receiver, eventBody("email.sent", { attempt: 2 }));
    expect(rewritten).toMatchObject({ code: "duplicate", status: 200, warnings: [] });
  });

  test("the same body under another delivery id runs again, because only the id counts", async () => {
    const { receiver } = observed();
    expect((await send(receiver)).code).toBe("processed");
    expect(await send(receiver, eventBody(), under("dlv_2"))).toMatchObject({
      code: "processed",
      run: 1,
    });
  });

  test("the signed event id has no effect", async () => {
    const { receiver } = observed({ ...byEvent, dedupeBy: "delivery" });
    const body = eventBody("email.sent", { id: "evt_1" });
    expect(await send(receiver, body)).toMatchObject({ code: "processed", eventId: "evt_1" });
    expect((await send(receiver, body, under("dlv_2"))).code).toBe("processed");
  });
});

describe("by event", () => {
  const body = eventBody("email.sent", { id: "evt_1" });

  test("the same event under another delivery id is a duplicate with a warning", async () => {
    const { receiver } = observed(byEvent);
    expect((await send(receiver, body)).code).toBe("processed");
    expect(await send(receiver, body, under("dlv_forged"))).toMatchObject({
      code: "duplicate",
      warnings: ["other_delivery_id"],
    });
  });

  test("a later attempt of the same lineage is a duplicate without a warning", async () => {
    const { receiver } = observed(byEvent);
    expect((await send(receiver, body)).code).toBe("processed");
    const rewritten = eventBody("email.sent", { id: "evt_1", attempt: 2 });
    expect(await send(receiver, rewritten)).toMatchObject({ code: "duplicate", warnings: [] });
  });

  test("a captured body sent under the id of a future delivery does not drop the real one", async () => {
    const { receiver } = observed(byEvent);
    expect((await send(receiver, body, under("dlv_future"))).code).toBe("processed");
    const real = eventBody("email.sent", { id: "evt_2" });
    expect((await send(receiver, real, under("dlv_future"))).code).toBe("processed");
  });

  test("the event's type is part of the key, separated unambiguously from the id", async () => {
    const { receiver } = observed(byEvent);
    for (const [type, id] of [
      ["email.sent", "evt_1"],
      ["email.bounced", "evt_1"],
      ["a", "bc"],
      ["ab", "c"],
      ['a","b', "c"],
      ["a", 'b","c'],
    ]) {
      expect((await send(receiver, eventBody(type, { id }))).code, `${type} ${id}`).toBe(
        "processed",
      );
    }
  });

  test("the warning compares with the attempt that was processed, not with the first attempt", async () => {
    let runs = 0;
    const { receiver } = observed({
      ...byEvent,
      on: {
        "*": () => {
          if (++runs === 1) throw new Error("not yet");
        },
      },
    });
    expect((await send(receiver, body, under("dlv_1"))).code).toBe("handler_failed");
    expect((await send(receiver, body, under("dlv_2"))).code).toBe("processed");
    expect((await send(receiver, body, under("dlv_2"))).warnings).toEqual([]);
    expect((await send(receiver, body, under("dlv_1"))).warnings).toEqual(["other_delivery_id"]);
  });

  test.each([
    ["undefined", undefined],
    ["an empty string", ""],
    ["a number", 7],
    ["a list", ["evt_1"]],
  ])("an eventId that returns %s is misconfigured, without a store call", async (_, id) => {
    const calls: NotedCall[] = [];
    let runs = 0;
    const { receiver, lines } = observed({
      ...byEvent,
      store: noting(calls, memoryStore()),
      on: { "*": () => (runs += 1) },
    });
    const unsignedId = { "x-svc-event-id": "evt_1" };
    expect(await send(receiver, eventBody("email.sent", { id }), unsignedId)).toMatchObject({
      code: "misconfigured",
      status: 500,
    });
    expect(lines).toEqual([expect.stringContaining("eventId")]);
    expect({ runs, calls }).toEqual({ runs: 0, calls: [] });
  });
});

describe("by body", () => {
  const byBody: Partial<ReceiverOptions> = { dedupeBy: "body" };

  test("the same bytes under another delivery id are a duplicate with a warning", async () => {
    const { receiver } = observed(byBody);
    expect((await send(receiver)).code).toBe("processed");
    expect(await send(receiver)).toMatchObject({ code: "duplicate", warnings: [] });
    expect(await send(receiver, eventBody(), under("dlv_2"))).toMatchObject({
      code: "duplicate",
      warnings: ["other_delivery_id"],
    });
  });

  test("one more space makes another body, even under the same delivery id", async () => {
    const { receiver } = observed(byBody);
    expect((await send(receiver)).code).toBe("processed");
    expect((await send(receiver, `${eventBody()} `)).code).toBe("processed");
  });
});

test("no two claims share a token, in one process or in several", async () => {
  const calls: NotedCall[] = [];
  const { receiver } = observed({ store: noting(calls, memoryStore()) });
  await send(receiver, eventBody(), under("dlv_1"));
  await send(receiver, eventBody(), under("dlv_2"));
  const tokens = calls.map(({ request }) => request.token);
  expect(tokens[0]).toBe(tokens[1]);
  expect(new Set(tokens).size).toBe(2);
  // The random part of the process, and the number of the claim.
  for (const token of tokens)
    expect(token).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+$/);
});

describe("keys", () => {
  const body = eventBody("email.secret-type", { id: "evt_of_the_sender" });
  const headers = { ...under("dlv_of_the_sender"), "x-svc-subscription-id": "sub_of_the_sender" };

  test.each<DedupeBy>(["delivery", "event", "body"])(
    "by %s, the store receives 32 hex digits and no text of the sender",
    async (dedupeBy) => {
      const calls: NotedCall[] = [];
      const { receiver } = observed({ ...byEvent, dedupeBy, store: noting(calls, memoryStore()) });
      await send(receiver, body, headers);
      expect(calls.map(({ operation }) => operation)).toEqual(["claim", "complete"]);
      for (const { key } of calls) expect(key).toMatch(/^[0-9a-f]{32}$/);
      expect(JSON.stringify(calls)).not.toMatch(/sender|secret-type/);
    },
  );

  test("a store receives lineages only if several can share a record", async () => {
    const lineagesBy = async (dedupeBy: DedupeBy) => {
      const calls: NotedCall[] = [];
      const { receiver } = observed({ ...byEvent, dedupeBy, store: noting(calls, memoryStore()) });
      await send(receiver, body, under("dlv_1"));
      await send(receiver, body, under("dlv_2"));
      return new Set(calls.map(({ request }) => request.lineage));
    };
    expect(await lineagesBy("delivery")).toEqual(new Set([undefined]));
    const hashed = expect.stringMatching(/^[0-9a-f]{32}$/) as unknown;
    expect([...(await lineagesBy("event"))]).toEqual([hashed, hashed]);
    expect([...(await lineagesBy("body"))]).toEqual([hashed, hashed]);
  });

  test.each<DedupeBy>(["delivery", "event", "body"])(
    "by %s, receivers with different names on one store do not share records",
    async (dedupeBy) => {
      const store = memoryStore();
      const [billing, audit, otherBilling] = ["billing", "audit", "billing"].map(
        (name) => observed({ ...byEvent, dedupeBy, store, name }).receiver,
      ) as [Observed["receiver"], Observed["receiver"], Observed["receiver"]];
      expect((await send(billing, body, headers)).code).toBe("processed");
      expect((await send(audit, body, headers)).code).toBe("processed");
      expect((await send(otherBilling, body, headers)).code).toBe("duplicate");
    },
  );

  test("the same delivery has a different key under each dedupeBy", async () => {
    const calls: NotedCall[] = [];
    const store = noting(calls, memoryStore());
    for (const dedupeBy of ["delivery", "event", "body"] as const) {
      await send(observed({ ...byEvent, dedupeBy, store }).receiver, body, headers);
    }
    expect(new Set(calls.map(({ key }) => key)).size).toBe(3);
  });

  test("the idempotency key is the same for all attempts and signing keys, and differs between deliveries", async () => {
    const seen: string[] = [];
    const { receiver } = observed({
      secret: [
        { id: "new", key: "whsec_new" },
        { id: "old", key: "whsec_old" },
      ],
      on: {
        "*": (_, { idempotencyKey, run }) => {
          seen.push(idempotencyKey);
          if (run === 1) throw new Error("again");
        },
      },
    });
    await send(receiver, body, { ...headers, "x-svc-attempt": "1" }, "whsec_old");
    await send(receiver, body, { ...headers, "x-svc-attempt": "2" }, "whsec_new");
    await send(receiver, body, under("dlv_2"), "whsec_new");
    const [first, second, other] = seen;
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });
});

describe("in flight", () => {
  test.each([
    [0, 5_000, "5"],
    [24_999, 5_000, "5"],
    [25_001, 4_999, "5"],
    [27_000, 3_000, "3"],
    [29_999, 1, "1"],
  ])(
    "a copy that arrives %i ms into the lease gets a retryAfterMs of %i ms",
    async (elapsedMs, retryAfterMs, retryAfter) => {
      const { opened, open } = gate();
      const { receiver, clock } = timed({ on: { "*": () => opened } });
      const first = send(receiver);
      await clock.advance(0);
      clock.jump(elapsedMs);
      const copy = await send(receiver);
      expect(copy).toMatchObject({ code: "in_flight", status: 503, retryAfterMs });
      expect(answer(copy).headers["Retry-After"]).toBe(retryAfter);
      open();
      expect((await first).code).toBe("processed");
    },
  );

  test("by event, a copy under another delivery id is in flight too", async () => {
    const { opened, open } = gate();
    const { receiver } = observed({ ...byEvent, on: { "*": () => opened } });
    const body = eventBody("email.sent", { id: "evt_1" });
    const first = send(receiver, body);
    expect((await send(receiver, body, under("dlv_2"))).code).toBe("in_flight");
    open();
    expect((await first).code).toBe("processed");
  });
});

test("a failed delivery runs again with the next run number and a larger fence, until it is processed", async () => {
  let failures = 2;
  const { receiver } = timed({
    on: {
      "*": () => {
        if (failures-- > 0) throw new Error("not yet");
      },
    },
  });
  // The clock stands still, so only the previous fence can make the next one larger.
  const first = await send(receiver);
  const second = await send(receiver);
  const third = await send(receiver);
  expect([first, second, third]).toMatchObject([
    { code: "handler_failed", status: 500, run: 1 },
    { code: "handler_failed", status: 500, run: 2, fence: Number(first.fence) + 1 },
    { code: "processed", status: 200, run: 3, fence: Number(first.fence) + 2 },
  ]);
  expect((await send(receiver)).code).toBe("duplicate");
});

describe("a parked record", () => {
  const parking = (store: DeliveryStore): DeliveryStore => ({
    ...store,
    release: (key, request, call) => store.release(key, { ...request, to: "parked" }, call),
  });
  const refuse = () => {
    throw new Error("never");
  };

  test("ends as parked without running its handler", async () => {
    let runs = 0;
    const { receiver } = observed({
      store: parking(memoryStore()),
      on: {
        "*": () => {
          runs += 1;
          refuse();
        },
      },
    });
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(await send(receiver)).toMatchObject({ code: "parked", status: 200, warnings: [] });
    expect(runs).toBe(1);
  });

  test("warns if the attempt arrives under another delivery id", async () => {
    const { receiver } = observed({
      dedupeBy: "body",
      store: parking(memoryStore()),
      on: { "*": refuse },
    });
    await send(receiver);
    expect(await send(receiver, eventBody(), under("dlv_2"))).toMatchObject({
      code: "parked",
      warnings: ["other_delivery_id"],
    });
  });
});

describe("a full memory store", () => {
  test("evicts the oldest record, and the run carries a warning", async () => {
    const { receiver } = observed({ store: memoryStore({ maxRecords: 2 }) });
    const warningsOf = async (id: string) =>
      (await send(receiver, eventBody(), under(id))).warnings;
    expect(await warningsOf("dlv_1")).toEqual([]);
    expect(await warningsOf("dlv_2")).toEqual([]);
    expect(await warningsOf("dlv_3")).toEqual(["evicted_early"]);
    expect((await send(receiver, eventBody(), under("dlv_2"))).code).toBe("duplicate");
    expect((await send(receiver, eventBody(), under("dlv_1"))).code).toBe("processed");
  });

  test("of running deliveries refuses a new one and evicts none", async () => {
    const { opened, open } = gate();
    const { receiver } = observed({
      store: memoryStore({ maxRecords: 1 }),
      on: { "*": () => opened },
    });
    const first = send(receiver);
    expect((await send(receiver, eventBody(), under("dlv_2"))).code).toBe("store_unavailable");
    open();
    expect((await first).code).toBe("processed");
  });
});
