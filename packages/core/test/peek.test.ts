import { eventBody } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import {
  memoryStore,
  PermanentError,
  type DedupeBy,
  type DeliveryStore,
  type ForgetTarget,
  type ReceiverOptions,
} from "../src/index.js";
import { codeOf } from "../src/adapter.js";
import { bothWays, gated, never, observed, second, send, timed } from "./support.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const eventId: ReceiverOptions["eventId"] = ({ id }) => id as string | undefined;

const invalid = (option: string) => ({
  name: "ConfigError",
  code: "invalid_option",
  option,
});

/** A receiver whose store records the keys of each peek. */
function peeking(options: Partial<ReceiverOptions> = {}, peek?: DeliveryStore["peek"]) {
  const batches: (readonly string[])[] = [];
  const bench = timed(options, (store) => ({
    peek(keys, call) {
      batches.push(keys);
      return peek ? peek(keys, call) : (store.peek?.(keys, call) ?? []);
    },
  }));
  return { ...bench, batches };
}

const targets = (count: number): ForgetTarget[] =>
  Array.from({ length: count }, (_, index) => ({ deliveryId: `dlv_${index}` }));

describe.each<[DedupeBy, Partial<ReceiverOptions>]>([
  ["delivery", {}],
  ["event", { dedupeBy: "event", eventId }],
  ["body", { dedupeBy: "body" }],
])("peek, with dedupeBy %s,", (dedupeBy, options) => {
  const bodyOf = (id: string) => eventBody("email.sent", { id });
  const target = (id: string) => ({ deliveryId: `dlv_${id}`, body: bytes(bodyOf(id)) });

  test("reports the state of each delivery, in the order of the targets", async () => {
    const { receiver, clock } = timed({
      ...options,
      on: {
        "*": (_, { deliveryId }) => {
          if (deliveryId === "dlv_parked") throw new PermanentError("no such customer");
          if (deliveryId === "dlv_failed") throw new Error("no");
          return deliveryId === "dlv_running" ? never() : undefined;
        },
      },
      onParked: () => {},
    });
    for (const id of ["parked", "failed", "done"]) {
      await send(receiver, bodyOf(id), { "x-svc-delivery-id": `dlv_${id}` });
    }
    void send(receiver, bodyOf("running"), { "x-svc-delivery-id": "dlv_running" });
    await settled();
    const ids = ["done", "absent", "running", "parked", "failed", "done"];
    const states = async () => receiver.peek(ids.map(target));
    expect(await states()).toEqual(["done", undefined, "running", "parked", "failed", "done"]);
    // The run is renewed until maxRunMs; then nothing holds the record any more.
    await clock.advance(900 * second + 30 * second);
    expect(await states()).toEqual(["done", undefined, "failed", "parked", "failed", "done"]);
  });

  test("only reads the receiver's own name", async () => {
    const { receiver, store, clock } = timed({ ...options, name: "billing" });
    await send(receiver, bodyOf("1"), { "x-svc-delivery-id": "dlv_1" });
    const { receiver: other } = observed({ ...options, store, clock, name: "mailing" });
    expect(await receiver.peek([target("1")])).toEqual(["done"]);
    expect(await other.peek([target("1")])).toEqual([undefined]);
  });

  test("needs a body only if the record's key derives from it", async () => {
    const { receiver } = timed(options);
    const peeked = receiver.peek([{ deliveryId: "dlv_1" }]);
    if (dedupeBy === "delivery") expect(await peeked).toEqual([undefined]);
    else await expect(peeked).rejects.toMatchObject(invalid("body"));
  });
});

test("peek reads more than 1,000 records in batches, one after another", async () => {
  const { receiver, batches } = peeking();
  await send(receiver, eventBody(), { "x-svc-delivery-id": "dlv_1999" });
  const states = await receiver.peek(targets(2_001));
  expect(batches.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
  expect(new Set(batches.flat()).size).toBe(2_001);
  expect(states).toHaveLength(2_001);
  expect(states.flatMap((state, index) => (state ? [index] : []))).toEqual([1_999]);
});

test("peek at no deliveries does not call the store", async () => {
  const { receiver, batches } = peeking();
  expect(await receiver.peek([])).toEqual([]);
  expect(batches).toEqual([]);
});

test("a receiver that is not asked to peek calls its store as before", async () => {
  const { receiver, operations, batches } = peeking();
  await send(receiver);
  await send(receiver);
  await receiver.forget({ deliveryId: "dlv_1" });
  expect(operations()).toEqual(["claim", "complete", "claim"]);
  expect(batches).toEqual([]);
});

test("peek does not remove an expired record", async () => {
  const { receiver, clock } = timed({ retainMs: 930 * second });
  await send(receiver);
  await clock.advance(930 * second - 1);
  expect(await receiver.peek([{ deliveryId: "dlv_1" }])).toEqual(["done"]);
  await clock.advance(1);
  expect(await receiver.peek([{ deliveryId: "dlv_1" }])).toEqual([undefined]);
  clock.jump(-1);
  // A call that changes records would have removed it.
  expect(await receiver.peek([{ deliveryId: "dlv_1" }])).toEqual(["done"]);
});

test.each<[string, unknown, string]>([
  ["no list", undefined, "targets"],
  ["a single target", { deliveryId: "dlv_1" }, "targets"],
  ["text", "dlv_1", "targets"],
  ["ids in place of targets", ["dlv_1"], "deliveryId"],
  // oxlint-disable-next-line no-sparse-arrays
  ["a list with a hole", [, { deliveryId: "dlv_1" }], "deliveryId"],
  ["a target without an id", [{ deliveryId: "dlv_1" }, {}], "deliveryId"],
])("peek rejects %s without calling the store", async (_, given, option) => {
  const { receiver, batches } = peeking();
  await expect(receiver.peek(given as ForgetTarget[])).rejects.toMatchObject(invalid(option));
  expect(batches).toEqual([]);
});

test("peek rejects with the fix if the store has no peek", async () => {
  const store = memoryStore();
  delete store.peek;
  const { receiver } = observed({ store });
  await expect(receiver.peek(targets(1))).rejects.toMatchObject({
    ...invalid("store.peek"),
    message: expect.stringContaining(
      "`store.peek` is undefined. Update the store's package, or add `peek` to your own store",
    ) as string,
  });
  expect((await send(receiver)).code).toBe("processed");
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["null", null],
  ["text of the right length", "d"],
  ["an object of the right length", { length: 1, 0: "done" }],
  ["no state", []],
  ["two states", ["done", "done"]],
  ["an unknown state", ["finished"]],
  ["a letter", ["d"]],
  ["null in place of undefined", [null]],
  ["a state in a list", [["done"]]],
  ["a name that every object has", ["constructor"]],
])("peek rejects if the store returns %s", async (_, found) => {
  for (const reply of [found, Promise.resolve(found)]) {
    const { receiver } = peeking({}, () => reply as never);
    await expect(receiver.peek(targets(1))).rejects.toMatchObject({
      ...invalid("store.peek()"),
      message: expect.stringMatching(
        /^`store\.peek\(\)` is .+\. It must return one state for each key\. /,
      ) as string,
    });
  }
});

test("peek rejects if a later batch is too short", async () => {
  const { receiver } = peeking({}, (keys) =>
    keys.length === 1_000 ? keys.map(() => "done" as const) : [],
  );
  await expect(receiver.peek(targets(1_001))).rejects.toMatchObject(invalid("store.peek()"));
});

test.each(bothWays(new Error("connection reset")))(
  "peek rejects with the error of a store that %s",
  async (_, peek) => {
    const { receiver } = peeking({}, peek);
    await expect(receiver.peek(targets(1))).rejects.toEqual(new Error("connection reset"));
  },
);

test("each call of peek has the deadline of a release, and aborts the store's signal", async () => {
  const signals: AbortSignal[] = [];
  const { receiver, clock } = peeking({ storeTimeouts: { release: 100 } }, (_, { signal }) => {
    signals.push(signal);
    return never();
  });
  const peeked = receiver.peek(targets(1)).catch((error: unknown) => error);
  await clock.advance(99);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await clock.advance(1);
  const error = await peeked;
  expect(codeOf(error)).toBe("store_timeout");
  expect(String(error)).toBe(
    "WebhookError: store.peek took longer than 100 ms. Check the store, or raise `storeTimeouts.release`.",
  );
  expect(signals).toMatchObject([{ aborted: true, reason: { code: "deadline" } }]);
  expect(clock.timers).toBe(0);
});

test("peek changes nothing of a run that is active", async () => {
  const { receiver, clock, operations, finish } = gated();
  const running = send(receiver);
  await settled();
  for (let at = 0; at < 3; at += 1) {
    expect(await receiver.peek([{ deliveryId: "dlv_1" }])).toEqual(["running"]);
    await clock.advance(second);
  }
  await finish();
  expect((await running).code).toBe("processed");
  expect(operations()).toEqual(["claim", "complete"]);
});
