import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  createReceiver,
  memoryStore,
  ReceiverConfigError,
  type ReceiverConfigErrorCode,
  type ReceiverOptions,
} from "../src/index.js";
import { noting, send, type NotedCall } from "./support.js";

const secret = "whsec_do_not_show";
const on = { "*": () => {} };
const onParked = () => {};
const noSchema = 'events["a"] must be a Standard Schema';

/** The error of building a receiver with these options, which may have any shape, as in JavaScript. */
function refusal(options: object): ReceiverConfigError {
  try {
    createReceiver({ secret, on, ...options });
  } catch (error) {
    if (error instanceof ReceiverConfigError) return error;
  }
  throw new Error("the receiver was built");
}

const week = 604_800_000;

describe("a receiver is not built with", () => {
  test.each<[string, object, ReceiverConfigErrorCode, string]>([
    ["no secret", { secret: undefined }, "invalid_secret", "secret must be"],
    ["an empty secret", { secret: "" }, "invalid_secret", "secret must be set"],
    ["empty bytes as secret", { secret: new Uint8Array() }, "invalid_secret", "secret must be set"],
    ["white space before the secret", { secret: ` ${secret}` }, "invalid_secret", "trimmed line"],
    ["a line break after the secret", { secret: `${secret}\n` }, "invalid_secret", "trimmed line"],
    ["a line break inside the secret", { secret: "whsec_a\nb" }, "invalid_secret", "trimmed line"],
    [
      "a lone surrogate in the secret",
      { secret: "whsec_\ud800" },
      "invalid_secret",
      "well-formed text",
    ],
    ["a number as secret", { secret: 42 }, "invalid_secret", "secret must be"],
    ["no key at all", { secret: [] }, "invalid_secret", "1 to 10 different"],
    [
      "eleven keys",
      { secret: Array.from({ length: 11 }, (_, id) => ({ id: `${id}`, key: `key ${id}` })) },
      "invalid_secret",
      "1 to 10 different",
    ],
    [
      "the same key twice",
      {
        secret: [
          { id: "a", key: secret },
          { id: "b", key: Buffer.from(secret) },
        ],
      },
      "invalid_secret",
      "1 to 10 different",
    ],
    [
      "the same key id twice",
      {
        secret: [
          { id: "a", key: "x" },
          { id: "a", key: "y" },
        ],
      },
      "invalid_secret",
      "1 to 10 different",
    ],
    ["a key without an id", { secret: [{ key: "x" }] }, "invalid_secret", "{ id, key"],
    [
      "a misspelt expiry",
      { secret: [{ id: "a", key: "x", expires: 5 }] },
      "unknown_option",
      "expires is not a known option.",
    ],
    [
      "an invalid expiry",
      { secret: [{ id: "a", key: "x", expiresAt: "soon" }] },
      "invalid_secret",
      "expiresAt?: Date",
    ],
    ["an unknown option", { leaseMS: 30_000 }, "unknown_option", "leaseMS is not a known option."],
    [
      "an unknown timeout",
      { storeTimeouts: { forget: 5 } },
      "unknown_option",
      "forget is not a known option.",
    ],
    ["no handlers", { on: undefined }, "invalid_handler", "on needs at least one handler."],
    ["an empty `on`", { on: {} }, "invalid_handler", "on needs at least one handler."],
    ["a handler that is not a function", { on: { a: "b" } }, "invalid_handler", 'on["a"] must be'],
    ["an empty handler key", { on: { "": () => {} } }, "invalid_handler", 'on[""] must be'],
    ["a misplaced *", { on: { "email*": () => {} } }, "invalid_handler", "prefix.*"],
    ["a * in the middle", { on: { "email.*.x": () => {} } }, "invalid_handler", "prefix.*"],
    ["two *", { on: { "*.*": () => {} } }, "invalid_handler", "prefix.*"],
    ["a shared store without a name", { store: shared() }, "missing_name", "shared store"],
    ["an empty name", { name: "" }, "missing_name", "1 to 256 characters"],
    ["a name that is too long", { name: "n".repeat(257) }, "invalid_option", "1 to 256 characters"],
    ["a name that is not a string", { name: 5 }, "invalid_option", "1 to 256 characters"],
    ["an invalid store", { store: new Map() }, "invalid_option", "store must be a DeliveryStore"],
    ["null as store", { store: null }, "invalid_option", "store must be a DeliveryStore"],
    ["a list as dedupeBy", { dedupeBy: ["event"] }, "invalid_option", '"event" or "body"'],
    ["an unknown dedupeBy", { dedupeBy: "id" }, "invalid_option", '"event" or "body"'],
    [
      "a word that starts with a dedupeBy",
      { dedupeBy: "bodyguard" },
      "invalid_option",
      '"event" or "body"',
    ],
    [
      "a word that ends in a dedupeBy",
      { dedupeBy: "somebody" },
      "invalid_option",
      '"event" or "body"',
    ],
    [
      "dedupeBy event without eventId",
      { dedupeBy: "event" },
      "missing_event_id",
      'eventId must be given with dedupeBy: "event".',
    ],
    ["an eventType that is not a function", { eventType: "type" }, "invalid_option", "a function"],
    [
      "an observer that is not a function",
      { observe: {} },
      "invalid_option",
      "observe must be a function",
    ],
    [
      "an onParked that is not a function",
      { onParked: "queue" },
      "invalid_option",
      "onParked must be a function",
    ],
    ["maxRuns without onParked", { maxRuns: 3 }, "missing_on_parked", "onParked must be given"],
    ["maxRuns of 0", { maxRuns: 0, onParked }, "invalid_option", "maxRuns must be"],
    ["half a run", { maxRuns: 1.5, onParked }, "invalid_option", "from 1 to 1000000"],
    ["over a million runs", { maxRuns: 1_000_001, onParked }, "invalid_option", "1000000"],
    ["runs as text", { maxRuns: "3", onParked }, "invalid_option", "a whole number"],
    ["NaN runs", { maxRuns: Number.NaN, onParked }, "invalid_option", "a whole number"],
    [
      "an unknown onStoreError",
      { onStoreError: "ignore" },
      "invalid_option",
      'onStoreError must be "refuse" or "process".',
    ],
    ["true as onStoreError", { onStoreError: true }, "invalid_option", '"refuse" or "process"'],
    ["half an onStoreError", { onStoreError: "proces" }, "invalid_option", '"refuse" or "process"'],
    [
      "a word that starts with an onStoreError",
      { onStoreError: "processed" },
      "invalid_option",
      '"refuse" or "process"',
    ],
    [
      "a word that ends in an onStoreError",
      { onStoreError: "reprocess" },
      "invalid_option",
      '"refuse" or "process"',
    ],
    ["an event that is a function", { events: { a: () => {} } }, "invalid_option", noSchema],
    ["an event that is undefined", { events: { a: undefined } }, "invalid_option", noSchema],
    ["an event that is null", { events: { a: null } }, "invalid_option", noSchema],
    [
      "an event whose schema cannot validate",
      { events: { a: { "~standard": { version: 1 } } } },
      "invalid_option",
      noSchema,
    ],
    ["null as events", { events: null }, "invalid_option", "events must be"],
    ["handlers that are all undefined", { on: { a: undefined } }, "invalid_handler", "on needs"],
    ["null as handler", { on: { a: null } }, "invalid_handler", 'on["a"] must be'],
    ["a log that is not a function", { log: true }, "invalid_option", "log must be a function"],
    ["a body limit of 0", { maxBodyBytes: 0 }, "invalid_option", "from 1 to 104857600"],
    ["a body limit over 100 MiB", { maxBodyBytes: 104_857_601 }, "invalid_option", "104857600"],
    ["a fraction of a millisecond", { leaseMs: 10_000.5 }, "invalid_option", "a whole number"],
    ["a duration as text", { leaseMs: "30s" }, "invalid_option", "a whole number"],
    ["NaN", { leaseMs: Number.NaN }, "invalid_option", "a whole number"],
    ["a lease below its floor", { leaseMs: 9_999 }, "invalid_option", "from 10000 to 3600000"],
    ["a lease over an hour", { leaseMs: 3_600_001 }, "invalid_option", "from 10000 to 3600000"],
    ["a handler timeout of 0", { handlerTimeoutMs: 0 }, "invalid_option", "from 1 to 25000"],
    ["a handler timeout near the lease", { handlerTimeoutMs: 25_001 }, "invalid_option", "25000"],
    ["runs shorter than the lease", { maxRunMs: 29_999 }, "invalid_option", "from 30000 to"],
    ["runs longer than timers reach", { maxRunMs: 2 ** 31 }, "invalid_option", "2147483647"],
    ["a retention within a run", { retainMs: 929_999 }, "invalid_option", "from 930000 to"],
    ["a store deadline of 0", { storeTimeouts: { claim: 0 } }, "invalid_option", "claim must be"],
    [
      "a store deadline over 10 s",
      { storeTimeouts: { complete: 10_001 } },
      "invalid_option",
      "10000",
    ],
  ])("%s", (_, options, code, text) => {
    const error = refusal(options);
    expect(error).toMatchObject({ name: "ReceiverConfigError", code });
    expect(error.message).toContain(text);
  });
});

test("the limits themselves are allowed, and undefined means the default", () => {
  const limits: Partial<ReceiverOptions>[] = [
    {
      maxBodyBytes: 1,
      leaseMs: 10_000,
      handlerTimeoutMs: 5_000,
      maxRunMs: 10_000,
      retainMs: 20_000,
    },
    { maxBodyBytes: 104_857_600, leaseMs: 3_600_000, handlerTimeoutMs: 3_595_000 },
    { maxRunMs: 2_147_483_647, retainMs: 31_536_000_000, name: "n".repeat(256) },
    { storeTimeouts: { claim: 1, extend: 10_000 }, retainMs: week },
    {
      name: undefined,
      store: undefined,
      dedupeBy: undefined,
      eventId: undefined,
      leaseMs: undefined,
      storeTimeouts: { claim: undefined },
      observe: undefined,
      log: undefined,
      clock: undefined,
      events: undefined,
      maxRuns: undefined,
      onParked: undefined,
      onStoreError: undefined,
    },
    { maxRuns: 1, onParked },
    { maxRuns: 1_000_000, onParked },
    { onStoreError: "refuse" },
    { onStoreError: "process" },
    { events: {} },
    { secret: [{ id: "a", key: "inner spaces are a key's own business", expiresAt: undefined }] },
    { on: { constructor: () => {}, "email.*": () => {}, "*": () => {}, "a.b.*": () => {} } },
    { dedupeBy: "event", eventId: () => "evt" },
  ];
  for (const options of limits)
    expect(() => createReceiver({ secret, on, ...options })).not.toThrow();
});

test("a handler that is undefined counts as absent, and another one receives its events", async () => {
  const ran: string[] = [];
  const receiver = createReceiver({
    secret,
    on: { "email.sent": undefined, "email.*": () => ran.push("email.*"), "a*b": undefined },
  });
  expect((await receiver.receive(await signed(eventBody(), {}, secret))).code).toBe("processed");
  expect(ran).toEqual(["email.*"]);
});

test("the defaults of the other durations follow leaseMs", () => {
  expect(() => createReceiver({ secret, on, leaseMs: 10_000 })).not.toThrow();
  expect(() => createReceiver({ secret, on, leaseMs: 3_600_000 })).not.toThrow();
  expect(() => createReceiver({ secret, on, maxRunMs: 2_000_000_000 })).not.toThrow();
});

test.each([
  ["7 days", {}, { leaseMs: 30_000, retainMs: week }],
  ["7 days with another leaseMs", { leaseMs: 60_000 }, { leaseMs: 60_000, retainMs: week }],
  [
    "as long as a run and its lease can last",
    { maxRunMs: 2_000_000_000 },
    { leaseMs: 30_000, retainMs: 2_000_030_000 },
  ],
])("records are kept for %s unless retainMs is set", async (_, options, request) => {
  const calls: NotedCall[] = [];
  const store = noting(calls, memoryStore());
  await send(createReceiver({ secret, on, store, ...options }), undefined, {}, secret);
  expect(calls).toMatchObject([{ request }, { request }]);
});

test("keys do not appear in errors, util.inspect or JSON", () => {
  const padded = refusal({ secret: [{ id: "a", key: `${secret} ` }] });
  const doubled = refusal({
    secret: [
      { id: "a", key: secret },
      { id: "b", key: secret },
    ],
  });
  const receiver = createReceiver({ secret: [{ id: "a", key: secret }], on });
  for (const shown of [padded, doubled, receiver]) {
    const all = inspect(shown, { depth: Infinity, showHidden: true }) + JSON.stringify(shown);
    expect(all + String((shown as Error).stack)).not.toContain("do_not_show");
  }
});

test("the bytes of a key may be wiped or changed afterwards", async () => {
  const key = new TextEncoder().encode(secret);
  const receiver = createReceiver({ secret: key, on });
  const delivery = await signed("{}", {}, secret);
  key.fill(0);
  expect((await receiver.receive(delivery)).code).toBe("event_untyped");
});

function shared() {
  return { ...memoryStore(), shared: true };
}

test("missing options are rejected like a missing secret", () => {
  const build = createReceiver as (options?: unknown) => unknown;
  expect(() => build()).toThrow(expect.objectContaining({ code: "invalid_secret" }));
  expect(() => build(null)).toThrow(expect.objectContaining({ code: "invalid_secret" }));
});
