import { eventBody, secret } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  answer,
  createReceiver,
  sign,
  type ClaimResult,
  type Delivery,
  type DeliveryStore,
  type HandlerResult,
  type Outcome,
  type OutcomeCode,
  type ReceiverOptions,
} from "../src/index.js";
import { never, timed } from "./support.js";

/** Semantics, section 4. */
const statuses: Readonly<Record<OutcomeCode, number>> = {
  processed: 200,
  ignored: 200,
  duplicate: 200,
  parked: 200,
  in_flight: 503,
  handler_timeout: 503,
  handler_failed: 500,
  event_invalid: 500,
  event_untyped: 500,
  store_unavailable: 503,
  body_unavailable: 500,
  misconfigured: 500,
  internal_error: 500,
  signature_missing: 401,
  signature_malformed: 401,
  signature_mismatch: 401,
  delivery_id_missing: 400,
  delivery_id_malformed: 400,
  malformed_body: 400,
  method_not_allowed: 405,
  body_too_large: 413,
  encoding_unsupported: 415,
  body_timeout: 408,
  draining: 503,
  aborted: 503,
};

/** Unforeseen values. */
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    0,
    Number.NaN,
    Symbol("junk"),
    Object.create(null),
    [],
    new Error("junk"),
    { code: "processed" },
    { code: "aborted" },
    { status: "claimed" },
    { status: "busy", leaseLeftMs: -1 },
    { status: "busy", leaseLeftMs: "soon" },
    { status: "busy" },
    { status: "done" },
    { status: "parked", lineage: 7 },
    Object.freeze({
      get code() {
        throw new Error("trap");
      },
    }),
  ),
  fc.anything(),
);

/** A function that returns or throws. */
const misbehavingAtOnce: fc.Arbitrary<() => unknown> = fc.oneof(
  junk.map((value) => () => value),
  junk.map((value) => () => {
    throw value;
  }),
);

/** A function that returns, throws, rejects or hangs. */
const misbehaving: fc.Arbitrary<() => unknown> = fc.oneof(
  misbehavingAtOnce,
  junk.map((value) => () => Promise.resolve(value)),
  junk.map((value) => () => Promise.reject(value)),
  fc.constant(never),
);

const names = fc.constantFrom(
  "x-svc-signature",
  "X-SVC-Signature",
  "x-svc-delivery-id",
  "X-Svc-Delivery-Id",
  "x-svc-attempt",
  "idempotency-key",
  "content-length",
  "content-encoding",
  "__proto__",
  "constructor",
  "get",
  "",
);

const values = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom<string | undefined>(
    undefined,
    "gzip",
    "identity",
    "0",
    "-1",
    "1e99",
    "Infinity",
    "NaN",
    "dlv_1",
    "dlv_1, dlv_2",
    `sha256=${"0".repeat(64)}`,
    "sha256=",
  ),
);

const headerRecords = fc.dictionary(
  fc.oneof(names, fc.string()),
  fc.oneof(values, fc.array(fc.string(), { maxLength: 3 })),
);

const bodies = fc.oneof(
  fc.uint8Array(),
  fc.json().map((text) => new TextEncoder().encode(text)),
  fc
    .record({ type: fc.oneof(fc.string(), fc.constant("email.sent")), id: fc.anything() })
    .map((event) => new TextEncoder().encode(JSON.stringify({ ...event, id: typeof event.id }))),
);

let unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled = [];
  process.on("unhandledRejection", noteUnhandled);
});
afterEach(() => {
  process.off("unhandledRejection", noteUnhandled);
});

/** The outcome, after enough time for all deadlines. */
async function outcomeOf(clock: FakeClock, receiving: Promise<Outcome>): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  receiving.then(
    (outcome) => outcomes.push(outcome),
    () => {},
  );
  await settled();
  // The deadlines of the secret, the claim, the handler and complete, in sequence.
  while (outcomes.length === 0 && clock.timers > 0) await clock.advance(15_000);
  return receiving;
}

function expectFromTheList(outcome: Outcome): void {
  expect(outcome.status).toBe(statuses[outcome.code]);
  const { status, headers, body } = answer(outcome);
  expect(status).toBe(outcome.status);
  expect(() => new Response(body, { status, headers })).not.toThrow();
  expect(headers["Retry-After"] ?? "1").toMatch(/^[1-9]\d{0,4}$/);
  if (status === 503) expect(headers).toHaveProperty("Retry-After");
  expect(unhandled).toEqual([]);
}

const quiet = { log: () => {}, onHandlerError: () => {} };

test("any request ends with a code of the list and its status", async () => {
  const methods = fc.oneof(
    fc.constant("POST"),
    fc.string(),
    fc.constantFrom("post", "GET", "HEAD"),
  );
  await fc.assert(
    fc.asyncProperty(
      methods,
      headerRecords,
      bodies,
      fc.boolean(),
      async (method, headers, body, isSigned) => {
        const { receiver, clock } = timed(quiet);
        const signature = isSigned ? { "x-svc-signature": await sign(body, secret) } : {};
        const delivery = { method, headers: { ...headers, ...signature }, body };
        expectFromTheList(await outcomeOf(clock, receiver.receive(delivery)));
      },
    ),
    { numRuns: 500 },
  );
});

test("a faulty header look-up ends with a code of the list", async () => {
  await fc.assert(
    fc.asyncProperty(misbehavingAtOnce, async (lookUp) => {
      const { receiver, clock } = timed(quiet);
      const headers = lookUp as () => string;
      const body = new TextEncoder().encode(eventBody());
      expectFromTheList(
        await outcomeOf(clock, receiver.receive({ method: "POST", headers, body })),
      );
    }),
  );
});

test("a value that is not a delivery ends with a code of the list", async () => {
  const shapes = fc.oneof(
    junk,
    fc.record(
      { method: fc.oneof(fc.constant("POST"), junk), headers: junk, body: junk },
      { requiredKeys: [] },
    ),
  );
  await fc.assert(
    fc.asyncProperty(shapes, async (delivery) => {
      const { receiver, clock } = timed(quiet);
      expectFromTheList(await outcomeOf(clock, receiver.receive(delivery as Delivery)));
    }),
    { examples: [[undefined], [null], [{}], [{ method: "POST" }]] },
  );
});

test("invalid receive options have no effect", async () => {
  const body = new TextEncoder().encode(eventBody());
  const headers = { "x-svc-signature": await sign(body, secret), "x-svc-delivery-id": "dlv_1" };
  await fc.assert(
    fc.asyncProperty(fc.oneof(junk, fc.record({ waitUntil: junk })), async (options) => {
      const { receiver } = timed(quiet);
      const outcome = await receiver.receive({ method: "POST", headers, body }, options as object);
      expect(outcome.code).toBe("processed");
    }),
    { examples: [[null]] },
  );
});

test("a reader that returns, throws or rejects with any value ends with a code of the list", async () => {
  await fc.assert(
    fc.asyncProperty(
      misbehaving.filter((read) => read !== never),
      async (read) => {
        const { receiver, clock } = timed(quiet);
        const delivery = {
          method: "POST",
          headers: { "x-svc-signature": `sha256=${"0".repeat(64)}` },
          body: read as () => Promise<Uint8Array>,
        };
        expectFromTheList(await outcomeOf(clock, receiver.receive(delivery)));
      },
    ),
    { numRuns: 300 },
  );
});

test("a store that returns, throws, rejects or hangs at random never leads to 2xx without a claim", async () => {
  const operations = fc.record<Partial<Record<keyof DeliveryStore, () => unknown>>>(
    {
      claim: misbehaving,
      complete: misbehaving,
      release: misbehaving,
      extend: misbehaving,
    },
    { requiredKeys: [] },
  );
  const handlers = fc.constantFrom<() => unknown>(
    () => {},
    never,
    () => Promise.reject(new Error("no")),
  );
  const body = new TextEncoder().encode(eventBody());
  const headers = { "x-svc-signature": await sign(body, secret), "x-svc-delivery-id": "dlv_1" };
  await fc.assert(
    fc.asyncProperty(operations, handlers, async (faults, handler) => {
      let runs = 0;
      const claimStatuses: unknown[] = [];
      const on = {
        "*": () => {
          runs += 1;
          return handler() as HandlerResult;
        },
      };
      const { receiver, clock } = timed({ ...quiet, on }, (working) => {
        const store = { ...working, ...(faults as unknown as Partial<DeliveryStore>) };
        return {
          ...store,
          async claim(...call) {
            const result: unknown = await store.claim(...call);
            claimStatuses.push((result as Partial<ClaimResult> | null | undefined)?.status);
            return result as ClaimResult;
          },
        };
      });
      const outcome = await outcomeOf(clock, receiver.receive({ method: "POST", headers, body }));
      await clock.advance(60_000);
      expectFromTheList(outcome);
      expect(runs).toBe(claimStatuses.includes("claimed") ? 1 : 0);
      if (outcome.code === "processed") expect(claimStatuses).toEqual(["claimed"]);
      if (outcome.code === "duplicate") expect(claimStatuses).toEqual(["done"]);
      if (outcome.code === "parked") expect(claimStatuses).toEqual(["parked"]);
    }),
    { numRuns: 500 },
  );
});

test("faulty hooks and resolvers end with a code of the list", async () => {
  const hooks = fc.record<Record<string, () => unknown>>(
    {
      secret: misbehaving,
      eventType: misbehavingAtOnce,
      eventId: misbehavingAtOnce,
      observe: misbehaving,
      log: misbehaving,
      onHandlerError: misbehaving,
      onInternalError: misbehaving,
    },
    { requiredKeys: [] },
  );
  const body = new TextEncoder().encode(eventBody());
  const headers = { "x-svc-signature": await sign(body, secret), "x-svc-delivery-id": "dlv_1" };
  await fc.assert(
    fc.asyncProperty(hooks, misbehaving, async (options, handler) => {
      const clock = fakeClock();
      const receiver = createReceiver({
        ...quiet,
        secret,
        on: { "*": handler as () => HandlerResult },
        clock,
        ...(options as Partial<ReceiverOptions>),
      });
      expectFromTheList(
        await outcomeOf(clock, receiver.receive({ method: "POST", headers, body })),
      );
    }),
    { numRuns: 500 },
  );
});
