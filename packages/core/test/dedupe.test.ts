import { eventBody } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { describe, expect, test } from "vitest";
import { answer, memoryStore, type DedupeBy, type ReceiverOptions } from "../src/index.js";
import { observed, recorded, send, timed } from "./support.js";

const byEvent: Partial<ReceiverOptions> = {
  dedupeBy: "event",
  eventId: ({ id }) => id as string | undefined,
};

const under = (deliveryId: string) => ({ "x-svc-delivery-id": deliveryId });

const body = eventBody("email.sent", { id: "evt_1" });
const bodies = {
  "the same body": body,
  "one more space": `${body} `,
  "a rewritten body": eventBody("email.sent", { id: "evt_1", attempt: 2 }),
  "another event": eventBody("email.sent", { id: "evt_2" }),
};

test.each<[DedupeBy | undefined, keyof typeof bodies, string, string, string[]]>([
  [undefined, "the same body", "dlv_2", "processed", []],
  [undefined, "a rewritten body", "dlv_1", "duplicate", []],
  ["delivery", "the same body", "dlv_2", "processed", []],
  ["event", "the same body", "dlv_2", "duplicate", ["other_delivery_id"]],
  ["event", "a rewritten body", "dlv_1", "duplicate", []],
  ["event", "another event", "dlv_1", "processed", []],
  ["body", "the same body", "dlv_1", "duplicate", []],
  ["body", "the same body", "dlv_2", "duplicate", ["other_delivery_id"]],
  ["body", "one more space", "dlv_1", "processed", []],
])(
  "with dedupeBy %s, a second delivery with %s under %s ends as %s with warnings %j",
  async (dedupeBy, second, deliveryId, code, warnings) => {
    const { receiver } = observed({ ...byEvent, dedupeBy });
    const first = await send(receiver, body, under("dlv_1"));
    expect(first).toMatchObject({ code: "processed", run: 1, eventId: "evt_1" });
    const outcome = await send(receiver, bodies[second], under(deliveryId));
    expect(outcome).toMatchObject({ code, status: 200, warnings });
  },
);

describe("by event", () => {
  test("the event's type is part of the key", async () => {
    const { receiver } = observed(byEvent);
    for (const type of ["email.sent", "email.bounced"]) {
      expect((await send(receiver, eventBody(type, { id: "evt_1" }))).code).toBe("processed");
    }
  });

  test("the warning compares with the attempt that was processed, not with the first attempt", async () => {
    const { receiver } = observed({
      ...byEvent,
      on: { "*": (_, { run }) => (run === 1 ? Promise.reject(new Error("not yet")) : undefined) },
    });
    expect((await send(receiver, body, under("dlv_1"))).code).toBe("handler_failed");
    expect((await send(receiver, body, under("dlv_2"))).code).toBe("processed");
    expect((await send(receiver, body, under("dlv_2"))).warnings).toEqual([]);
    expect((await send(receiver, body, under("dlv_1"))).warnings).toEqual(["other_delivery_id"]);
  });
});

test("no two claims share a token, in one process or in several", async () => {
  const { receiver, calls } = recorded();
  await send(receiver, body, under("dlv_1"));
  await send(receiver, body, under("dlv_2"));
  const tokens = calls.map(({ request }) => request.token);
  expect(tokens[0]).toBe(tokens[1]);
  expect(new Set(tokens).size).toBe(2);
  // A token is the random part of the process followed by the number of the claim.
  for (const token of tokens)
    expect(token).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+$/);
});

const hash = expect.stringMatching(/^[0-9a-f]{32}$/) as unknown;

describe.each<[DedupeBy, unknown]>([
  ["delivery", undefined],
  ["event", hash],
  ["body", hash],
])("by %s", (dedupeBy, lineage) => {
  test("the store receives keys of 32 hex digits, and no text of the sender", async () => {
    const { receiver, calls } = recorded({ ...byEvent, dedupeBy });
    await send(receiver, eventBody("email.secret-type", { id: "evt_of_the_sender" }), {
      ...under("dlv_of_the_sender"),
      "x-svc-subscription-id": "sub_of_the_sender",
    });
    expect(calls).toMatchObject([
      { operation: "claim", key: hash },
      { operation: "complete", key: hash },
    ]);
    expect(JSON.stringify(calls)).not.toMatch(/sender|secret-type/);
  });

  test("the store receives lineages only if several can share a record", async () => {
    const { receiver, calls } = recorded({ ...byEvent, dedupeBy });
    await send(receiver, body, under("dlv_1"));
    await send(receiver, body, under("dlv_2"));
    const lineages = [...new Set(calls.map(({ request }) => request.lineage))];
    expect(lineages).toEqual(lineage ? [lineage, lineage] : [undefined]);
  });
});

test("the same delivery has a different key under each dedupeBy", async () => {
  const keys = new Set<string>();
  for (const dedupeBy of ["delivery", "event", "body"] as const) {
    const { receiver, calls } = recorded({ ...byEvent, dedupeBy });
    await send(receiver, body);
    for (const { key } of calls) keys.add(key);
  }
  expect(keys.size).toBe(3);
});

test("the idempotency key is the same for all attempts and signing keys, and differs between deliveries", async () => {
  const { receiver, contexts } = recorded({
    secret: [
      { id: "new", key: "whsec_new" },
      { id: "old", key: "whsec_old" },
    ],
    handle: () => Promise.reject(new Error("again")),
  });
  await send(receiver, body, { "x-svc-attempt": "1" }, "whsec_old");
  await send(receiver, body, { "x-svc-attempt": "2" }, "whsec_new");
  await send(receiver, body, under("dlv_2"), "whsec_new");
  const [first, second, other] = contexts.map(({ idempotencyKey }) => idempotencyKey);
  expect(first).toEqual(hash);
  expect(second).toBe(first);
  expect(other).not.toBe(first);
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
    const first = send(receiver, body);
    expect((await send(receiver, body, under("dlv_2"))).code).toBe("in_flight");
    open();
    expect((await first).code).toBe("processed");
  });
});

test("a failed delivery runs again with the next run number and a larger fence, until it is processed", async () => {
  // The clock stands still, so only the previous fence can make the next one larger.
  const { receiver } = timed({
    on: { "*": (_, { run }) => (run === 3 ? undefined : Promise.reject(new Error("not yet"))) },
  });
  const first = await send(receiver);
  const fence = Number(first.fence);
  expect(first).toMatchObject({ code: "handler_failed", status: 500, run: 1 });
  expect(await send(receiver)).toMatchObject({ code: "handler_failed", run: 2, fence: fence + 1 });
  expect(await send(receiver)).toMatchObject({ code: "processed", run: 3, fence: fence + 2 });
  expect((await send(receiver)).code).toBe("duplicate");
});

test("a parked record does not run again, and warns if the attempt has another delivery id", async () => {
  const { receiver, contexts } = recorded(
    { dedupeBy: "body", handle: () => Promise.reject(new Error("never")) },
    (store) => ({
      release: (key, request, call) => store.release(key, { ...request, to: "parked" }, call),
    }),
  );
  expect((await send(receiver, body, under("dlv_1"))).code).toBe("handler_failed");
  const again = await send(receiver, body, under("dlv_1"));
  expect(again).toMatchObject({ code: "parked", status: 200, warnings: [] });
  const other = await send(receiver, body, under("dlv_2"));
  expect(other).toMatchObject({ code: "parked", warnings: ["other_delivery_id"] });
  expect(contexts).toHaveLength(1);
});

test("a full memory store evicts the oldest record, and the run carries a warning", async () => {
  const { receiver } = observed({ store: memoryStore({ maxRecords: 2 }) });
  const sendUnder = (deliveryId: string) => send(receiver, body, under(deliveryId));
  expect((await sendUnder("dlv_1")).warnings).toEqual([]);
  expect((await sendUnder("dlv_2")).warnings).toEqual([]);
  expect((await sendUnder("dlv_3")).warnings).toEqual(["evicted_early"]);
  expect((await sendUnder("dlv_2")).code).toBe("duplicate");
  expect((await sendUnder("dlv_1")).code).toBe("processed");
});
