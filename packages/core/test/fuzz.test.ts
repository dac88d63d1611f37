import { sized } from "@svc-webhooks/kit/sized";
import { forgedSignature, secret, signed } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { statuses } from "@svc-webhooks/kit/statuses";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  answer,
  type ClaimResult,
  type Delivery,
  type DeliveryStore,
  type HandlerResult,
  type Outcome,
  type ReceiverOptions,
} from "../src/index.js";
import { never, recorded, timed, type Timed } from "./support.js";

/** Unforeseen values. */
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    Symbol("junk"),
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
  fc.anything({ withNullPrototype: true }),
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
    forgedSignature,
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

const quiet = { log: () => {}, onHandlerError: () => {} };

/** Receives the delivery, lets all deadlines pass, and checks the outcome. */
async function outcomeOf({ receiver, clock }: Timed, delivery: unknown): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  const receiving = receiver.receive(delivery as Delivery);
  receiving.then(
    (outcome) => outcomes.push(outcome),
    () => {},
  );
  await settled();
  // The deadlines of the secret, the claim, the handler and complete, in sequence.
  while (outcomes.length === 0 && clock.timers > 0) await clock.advance(15_000);
  const outcome = await receiving;

  expect(outcome.status).toBe(statuses[outcome.code]);
  const { status, headers, body } = answer(outcome);
  expect(status).toBe(outcome.status);
  expect(() => new Response(body, { status, headers })).not.toThrow();
  expect(headers["Retry-After"] ?? "1").toMatch(/^[1-9]\d{0,4}$/);
  if (status === 503) expect(headers).toHaveProperty("Retry-After");
  expect(unhandled).toEqual([]);
  return outcome;
}

const delivery = await signed();

const signatureOf = (body: Uint8Array) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

const requests: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  "with any method, headers and body": fc
    .record({
      method: fc.oneof(fc.constant("POST"), fc.string(), fc.constantFrom("post", "GET", "HEAD")),
      headers: headerRecords,
      body: bodies,
    })
    .chain((request) => {
      const headers = { ...request.headers, "x-svc-signature": signatureOf(request.body) };
      return fc.constantFrom(request, { ...request, headers });
    }),
  "with a faulty header look-up": misbehavingAtOnce.map((headers) => ({ ...delivery, headers })),
  "whose reader returns, throws or rejects with any value": misbehaving
    .filter((body) => body !== never)
    .map((body) => ({ ...delivery, headers: { "x-svc-signature": forgedSignature }, body })),
  "that is not a delivery": fc.oneof(
    fc.constantFrom<unknown>(undefined, null, {}, { method: "POST" }),
    junk,
    fc.record(
      { method: fc.oneof(fc.constant("POST"), junk), headers: junk, body: junk },
      { requiredKeys: [] },
    ),
  ),
};

test.each(Object.entries(requests))(
  "a request %s ends with a code of the list and its status",
  async (_, arbitrary) => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (request) => {
        await outcomeOf(timed(quiet), request);
      }),
      { numRuns: sized(100, 500) },
    );
  },
);

test("invalid receive options have no effect", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(junk, fc.record({ waitUntil: junk })), async (options) => {
      const outcome = await timed(quiet).receiver.receive(delivery, options as object);
      expect(outcome.code).toBe("processed");
    }),
    { examples: [[null]] },
  );
});

test("a store that returns, throws, rejects or hangs at random never leads to 2xx without a claim", async () => {
  const operations = fc.record(
    { claim: misbehaving, complete: misbehaving, release: misbehaving, extend: misbehaving },
    { requiredKeys: [] },
  );
  const handlers = fc.constantFrom<() => HandlerResult>(
    () => {},
    never,
    () => Promise.reject(new Error("no")),
  );
  await fc.assert(
    fc.asyncProperty(operations, handlers, async (faults, handle) => {
      const claimStatuses: unknown[] = [];
      const made = recorded({ ...quiet, handle }, (working) => {
        const store = { ...working, ...(faults as Partial<DeliveryStore>) };
        return {
          ...store,
          async claim(...call) {
            const result: unknown = await store.claim(...call);
            claimStatuses.push((result as Partial<ClaimResult> | null | undefined)?.status);
            return result as ClaimResult;
          },
        };
      });
      const { code } = await outcomeOf(made, delivery);
      await made.clock.advance(60_000);
      expect(unhandled).toEqual([]);
      expect(made.contexts).toHaveLength(claimStatuses.includes("claimed") ? 1 : 0);
      if (code === "processed") expect(claimStatuses).toEqual(["claimed"]);
      if (code === "duplicate") expect(claimStatuses).toEqual(["done"]);
      if (code === "parked") expect(claimStatuses).toEqual(["parked"]);
    }),
    { numRuns: sized(100, 500) },
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
  await fc.assert(
    fc.asyncProperty(hooks, misbehaving, async (options, handler) => {
      const on = { "*": handler as () => HandlerResult };
      await outcomeOf(timed({ ...quiet, on, ...(options as Partial<ReceiverOptions>) }), delivery);
    }),
    { numRuns: sized(100, 500) },
  );
});
