import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  memoryStore,
  parseDelivery,
  PermanentError,
  serializeDelivery,
  type DedupeBy,
  type DeliveryContext,
  type ReceiverOptions,
  type StoredDelivery,
} from "../src/index.js";
import { codesOf, failsFirst, gated, observed, second, send, timed } from "./support.js";

const eventId: ReceiverOptions["eventId"] = ({ id }) => id as string | undefined;

/** A receiver whose handler parks events until it is repaired, and the rows it stored. */
function parking(options: Partial<ReceiverOptions> = {}) {
  const rows: string[] = [];
  let isBroken = true;
  const bench = timed({
    on: {
      "*": () => {
        if (isBroken) throw new PermanentError("no such customer");
      },
    },
    onParked: (_, { delivery }) => rows.push(serializeDelivery(delivery)),
    ...options,
  });
  const resume = () => bench.receiver.resume(parseDelivery(rows[0]));
  return { ...bench, rows, resume, repair: () => (isBroken = false) };
}

describe.each<[DedupeBy, Partial<ReceiverOptions>]>([
  ["delivery", {}],
  ["event", { dedupeBy: "event", eventId }],
  ["body", { dedupeBy: "body" }],
])("resume, with dedupeBy %s,", (_, options) => {
  const body = eventBody("email.sent", { id: "evt_1" });

  test("runs a parked delivery with one claim, after which it is a duplicate", async () => {
    const { receiver, operations, resume, repair } = parking(options);
    expect((await send(receiver, body)).code).toBe("parked");
    repair();
    expect(await resume()).toMatchObject({ code: "processed", run: 1, dedupe: "verified" });
    expect(operations()).toEqual(["claim", "release parked", "claim", "complete"]);
    expect((await resume()).code).toBe("duplicate");
    expect((await send(receiver, body)).code).toBe("duplicate");
  });

  test("parks the event again on another PermanentError", async () => {
    const { receiver, rows, resume } = parking(options);
    await send(receiver, body);
    expect((await resume()).code).toBe("parked");
    expect(rows).toHaveLength(2);
    expect((await send(receiver, body)).code).toBe("parked");
    expect(rows).toHaveLength(2);
  });
});

describe("resume", () => {
  test("does not verify, so the key may have changed", async () => {
    const { receiver, rows, store, clock } = parking();
    await send(receiver);
    const { receiver: later } = observed({ store, clock, secret: "whsec_new" });
    const outcome = await later.resume(parseDelivery(rows[0]));
    expect(outcome).toMatchObject({ code: "processed", deliveryId: "dlv_1" });
    expect(outcome.secretId).toBeUndefined();
  });

  test("runs an event without a record, as from a queue, and limits its time only by its lease", async () => {
    const { receiver, clock, contexts, finish } = gated();
    const resumed = receiver.resume(await signed());
    await clock.advance(600 * second);
    expect(contexts).toMatchObject([{ signal: { aborted: false } }]);
    expect((await send(receiver)).code).toBe("in_flight");
    await finish();
    expect((await resumed).code).toBe("processed");
  });

  test("is refused without a change while another run holds the lease", async () => {
    const { receiver, finish } = gated();
    const running = send(receiver);
    await settled();
    expect((await receiver.resume(await signed())).code).toBe("in_flight");
    await finish();
    expect((await running).code).toBe("processed");
  });

  test("by two operators concurrently runs once", async () => {
    const { receiver, resume, repair } = parking();
    await send(receiver);
    repair();
    const codes = (await Promise.all([resume(), resume()])).map(({ code }) => code);
    expect(codes.toSorted()).toEqual(["duplicate", "processed"]);
  });

  test("restarts the count of runs after maxRuns", async () => {
    let isBroken = true;
    const { receiver } = timed({
      maxRuns: 1,
      onParked: () => {},
      on: {
        "*": () => {
          if (isBroken) throw new Error("no");
        },
      },
    });
    expect(await codesOf(receiver, 2)).toEqual(["handler_failed", "parked"]);
    isBroken = false;
    expect(await receiver.resume(await signed())).toMatchObject({ code: "processed", run: 1 });
  });

  test("passes the run to waitUntil", async () => {
    const works: Promise<unknown>[] = [];
    const { receiver } = observed({ on: { "*": async () => {} } });
    await receiver.resume(await signed(), { waitUntil: (work) => works.push(work) });
    expect(works).toHaveLength(1);
  });

  const empty = { method: "POST", headers: {}, body: new Uint8Array() };

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "internal_error"],
    ["a body that is a string", { ...empty, body: "{}" }, "body_unavailable"],
    ["no delivery id", empty, "delivery_id_missing"],
    [
      "a body that is not JSON",
      { ...empty, headers: { "x-svc-delivery-id": "dlv_1" } },
      "malformed_body",
    ],
  ])("resolves to an outcome for %s", async (_, wrong, code) => {
    const { receiver } = observed();
    expect((await receiver.resume(wrong as StoredDelivery)).code).toBe(code);
  });

  test("is the only call that claims a parked record", async () => {
    const { receiver, calls } = parking();
    await codesOf(receiver, 2);
    expect(calls.filter(({ request }) => request.takeParked)).toEqual([]);
  });
});

describe("a stored delivery", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const delivery: StoredDelivery = {
    method: "POST",
    headers: { "x-svc-delivery-id": "dlv_1", "x-svc-attempt": undefined },
    body: bytes,
  };

  test("survives serialization byte for byte", () => {
    const headers = { "x-svc-delivery-id": "dlv_1" };
    const parsed = parseDelivery(serializeDelivery(delivery));
    expect(parsed).toStrictEqual({ method: "POST", headers, body: bytes });
  });

  test("can be parsed from the object that a driver returns for a JSON column", () => {
    const column: unknown = JSON.parse(serializeDelivery(delivery));
    expect(parseDelivery(column).body).toEqual(bytes);
    expect(column).toMatchObject({ body: Buffer.from(bytes).toString("base64") });
  });

  const valid = { method: "POST", headers: {}, body: "e30=" };

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["empty text", ""],
    ["text that is not JSON", "{"],
    ["JSON null", "null"],
    ["an empty object", {}],
    ["a body of bytes after JSON.stringify", { ...valid, body: { 0: 123 } }],
    ["a body that is not base64", { ...valid, body: "{}" }],
    ["no body", { ...valid, body: undefined }],
    ["no headers", { ...valid, headers: undefined }],
    ["a header that is not text", { ...valid, headers: { a: 1 } }],
    ["no method", { ...valid, method: undefined }],
    ["headers that are text", { ...valid, headers: "abc" }],
    ["headers that are a list", { ...valid, headers: ["a"] }],
    ["headers that are a number", { ...valid, headers: 5 }],
    ["base64 without its padding", { ...valid, body: "e30" }],
    ["base64 with a space in it", { ...valid, body: "e3 0=" }],
  ])("is refused as invalid_delivery when it is %s", (_, stored) => {
    expect(() => parseDelivery(stored)).toThrow(
      expect.objectContaining({ name: "WebhookError", code: "invalid_delivery" }),
    );
  });
});

describe("dedupe", () => {
  test("narrows run and fence to numbers", () => {
    const use = (context: DeliveryContext) => {
      if (context.dedupe === "verified") {
        expectTypeOf(context.run).toEqualTypeOf<number>();
        expectTypeOf(context.fence).toEqualTypeOf<number>();
      } else expectTypeOf(context.run).toEqualTypeOf<undefined>();
    };
    expect(use).toBeTypeOf("function");
  });

  test("is verified only when a claim is held", async () => {
    const { receiver } = timed({}, failsFirst(1, "claim"));
    expect((await send(receiver)).dedupe).toBeUndefined();
    const { receiver: busy } = gated();
    void send(busy);
    await settled();
    expect((await send(busy)).dedupe).toBeUndefined();
    const { receiver: free } = timed();
    expect((await send(free)).dedupe).toBe("verified");
  });
});

test("one memory store in two receivers without names is rejected like a shared store", () => {
  const store = memoryStore();
  const clock = fakeClock();
  const build = (name?: string) => observed({ store, clock, name });
  build("billing");
  build(undefined);
  build("mailing");
  expect(() => build(undefined)).toThrow(
    expect.objectContaining({ code: "missing_name", option: "name" }),
  );
});
