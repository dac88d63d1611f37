import {
  PermanentError,
  RetryError,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
  type StandardSchemaV1,
} from "@svc-webhooks/core";
import { defineInbox, type Enqueue } from "@svc-webhooks/core/inbox";
import { fakeClock } from "@svc-webhooks/testing";
import type { RequestListener } from "node:http";
import request, { type Response } from "supertest";
import { describe, expect, test } from "vitest";
import { dial, requestHead } from "@svc-webhooks/kit/clients";
import {
  eventBody,
  forgedSignature,
  signed,
  unsigned,
  type TestDelivery,
} from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import {
  call,
  claimBy,
  heldHandler,
  observedReceiver,
  recordedStore,
  timedStore,
  type ObservedReceiver,
} from "@svc-webhooks/kit/receivers";
import { schemeDelivery, testScheme } from "@svc-webhooks/kit/test-scheme";
import { statuses } from "@svc-webhooks/kit/statuses";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import {
  expressApp,
  expresses,
  listen,
  type Express,
  type Middleware,
} from "@svc-webhooks/kit/servers";

interface Mounted {
  readonly app: RequestListener;
  readonly receiver: Receiver;
}

/** Mounts a receiver with these options. Each case mounts one and sends all its deliveries to it. */
type Mount = (options?: Partial<ReceiverOptions>, ...before: readonly Middleware[]) => Mounted;

/** Produces the outcome and resolves with the response, if the sender gets one. */
type Produce = (mount: Mount, express: Express) => Promise<Response | undefined>;

/** An outcome code, when it occurs, how to produce it, and any headers specific to its response. */
type Case = readonly [
  code: OutcomeCode,
  when: string,
  produce: Produce,
  headers?: Readonly<Record<string, string>>,
];

async function post(
  app: RequestListener,
  delivery: TestDelivery | Promise<TestDelivery> = signed(),
): Promise<Response> {
  const { headers, body } = await delivery;
  return (
    request(app)
      .post("/webhooks")
      .set(headers as Record<string, string>)
      // By default, superagent serializes a Buffer as JSON.
      .serialize((bytes: string) => bytes)
      .send(body)
  );
}

/** Produces an outcome by sending one delivery to a receiver with these options. */
const sending =
  (delivery: Promise<TestDelivery> = signed(), options?: Partial<ReceiverOptions>): Produce =>
  (mount) =>
    post(mount(options).app, delivery);

/** Produces an outcome by sending the default delivery to a receiver with these options. */
const given = (options: Partial<ReceiverOptions>): Produce => sending(undefined, options);

const unsignedWith = (signature: string | undefined) =>
  Promise.resolve(unsigned(eventBody(), { "x-svc-signature": signature }));

const signedWith = (headers: Readonly<Record<string, string | undefined>>) =>
  signed<string | undefined>(eventBody(), headers);

const rejecting = (reason: Error) => ({ on: { "*": () => Promise.reject(reason) } });

const throws = () => {
  throw new Error("no");
};

const idOf = (id: string | undefined) => signedWith({ "x-svc-delivery-id": id });

/** A failed validation. The issues are for the operator and must not appear in the response. */
const refusal = { issues: [{ message: "confidential", path: ["customer"] }] };

const schemaBy = (validate: StandardSchemaV1["~standard"]["validate"]): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate },
});

/** Sends a delivery twice, one copy after the other. */
const twice =
  (options?: Partial<ReceiverOptions>): Produce =>
  async (mount) => {
    const { app } = mount(options);
    await post(app);
    return post(app);
  };

/** Sends a copy of a delivery while the first is still being handled, `afterMs` later. */
const whileInFlight =
  (afterMs: number): Produce =>
  async (mount) => {
    const { clock, store } = timedStore();
    const { on, started, finish } = heldHandler();
    const { app } = mount({ clock, store, on });
    const first = post(app);
    await started;
    clock.jump(afterMs);
    const copy = await post(app);
    finish();
    expect((await first).status).toBe(200);
    return copy;
  };

const afterParking: Produce = async (mount) => {
  const { store, onlyKey } = recordedStore();
  const { app } = mount({ store, ...rejecting(new Error("no")) });
  await post(app);
  await store.claim(onlyKey(), claimBy("operator"), call);
  await store.release(onlyKey(), { ...claimBy("operator"), to: "parked" }, call);
  return post(app);
};

const whileHandlerHangs: Produce = async (mount) => {
  const clock = fakeClock();
  const { on, started, finish } = heldHandler();
  const response = post(mount({ clock, on, handlerTimeoutMs: 4_000 }).app);
  await started;
  await clock.advance(4_000);
  finish();
  return response;
};

const whileClaimHangs: Produce = async (mount) => {
  const clock = fakeClock();
  const claimed = gate();
  const claim = () => {
    claimed.open();
    return new Promise<never>(() => {});
  };
  const response = post(mount({ clock, store: recordedStore({ claim }).store }).app);
  await claimed.opened;
  await clock.advance(1_500);
  return response;
};

const afterExpiry: Produce = async (mount) => {
  const clock = fakeClock();
  const expiresAt = clock.now() + 1;
  const { app } = mount({ clock, secret: [{ id: "old", key: "whsec_test", expiresAt }] });
  clock.jump(1);
  return post(app);
};

const tooLargeInChunks: Produce = async (mount) => {
  const { headers, body } = await signed();
  const streamed = request(mount({ maxBodyBytes: 10 }).app).post("/webhooks");
  streamed.set(headers).write(body);
  return streamed;
};

const whileDraining: Produce = async (mount) => {
  const { on, started, finish } = heldHandler();
  const { app, receiver } = mount({ on });
  const running = post(app);
  await started;
  const drained = receiver.drain({ deadlineMs: 60_000 });
  const rejected = await post(app, signedWith({ "x-svc-delivery-id": "dlv_2" }));
  finish();
  expect((await running).status).toBe(200);
  expect(await drained).toBe(0);
  return rejected;
};

const whileFull: Produce = async (mount) => {
  const { on, started, finish } = heldHandler();
  const { app } = mount({ on, maxConcurrent: 1 });
  const running = post(app);
  await started;
  const refused = await post(app, signedWith({ "x-svc-delivery-id": "dlv_2" }));
  finish();
  expect((await running).status).toBe(200);
  return refused;
};

/** Produces an outcome of a handler that runs from a queue. */
const queued = (enqueue: Enqueue): Produce =>
  given({ on: { "*": defineInbox(enqueue)(() => {}) } });

const hangingUp: Produce = async (mount) => {
  const reading = gate();
  const { app } = mount({}, (_request, _response, next) => {
    next();
    reading.open();
  });
  const client = dial(await listen(app));
  const { headers } = await signedWith({ "content-length": "1000" });
  client.write(`${requestHead(headers)}{"type":`);
  await reading.opened;
  client.destroy();
  expect(await client.closed).toBe("");
  return undefined;
};

/** A random pause, so that refused senders do not return together. */
const fiveToTen = expect.stringMatching(/^(?:[5-9]|10)$/) as string;
const retryAfter = (seconds: string) => ({ "retry-after": seconds });
const ofScheme = { scheme: testScheme, secret: "test key" } as const;
const noId = { dedupeBy: "event", eventId: () => undefined } as const;
const claimFails = recordedStore({ claim: () => Promise.reject(new Error("down")) }).store;
const sha512 = forgedSignature.replace("256", "512");
const later = schemaBy(() => Promise.resolve(refusal));

const cases: readonly Case[] = [
  ["processed", "the handler resolved", sending()],
  ["enqueued", "a queue has stored the delivery", queued(async () => {})],
  ["ignored", "no handler matches the type", given({ on: { "domain.*": () => {} } })],
  ["duplicate", "the delivery was processed before", twice()],
  ["parked", "the record was parked", afterParking],
  ["parked", "the handler throws a PermanentError", given(rejecting(new PermanentError("no")))],
  [
    "parked",
    "its runs are used up",
    twice({ ...rejecting(new Error("no")), maxRuns: 1, onParked: () => {} }),
  ],
  [
    "handshake",
    "the sender tests the endpoint",
    sending(Promise.resolve(schemeDelivery({ ping: true })), ofScheme),
  ],
  ["in_flight", "another worker holds the lease for 30 s", whileInFlight(0), retryAfter("5")],
  ["in_flight", "another worker's lease ends in 2.5 s", whileInFlight(27_500), retryAfter("3")],
  ["handler_timeout", "the handler exceeds handlerTimeoutMs", whileHandlerHangs, retryAfter("5")],
  ["handler_failed", "the handler rejected", given(rejecting(new Error("no")))],
  ["handler_failed", "the handler threw", given({ on: { "*": throws } })],
  [
    "handler_failed",
    "the handler throws a RetryError",
    given(rejecting(new RetryError({ retryAfterMs: 90_001 }))),
    retryAfter("91"),
  ],
  [
    "event_invalid",
    "the schema of its type rejects it",
    given({ events: { "email.sent": schemaBy(() => refusal) } }),
  ],
  [
    "event_invalid",
    "an asynchronous schema of its type rejects it",
    given({ events: { "email.sent": later } }),
  ],
  ["event_untyped", "the signed object has no type", sending(signed(`{"type":""}`))],
  ["store_unavailable", "the store rejects", given({ store: claimFails }), retryAfter("5")],
  [
    "store_unavailable",
    "the store does not reply within its deadline",
    whileClaimHangs,
    retryAfter("5"),
  ],
  [
    "queue_unavailable",
    "the queue rejects",
    queued(() => Promise.reject(new Error("down"))),
    retryAfter("5"),
  ],
  [
    "queue_unavailable",
    "the queue is full and names a pause",
    queued(() => Promise.reject(Object.assign(new Error("full"), { retryAfterMs: 60_000 }))),
    retryAfter("60"),
  ],
  [
    "body_unavailable",
    "a parser consumed the bytes",
    (mount, express) => post(mount({}, express.json()).app),
  ],
  ["misconfigured", "the secret function throws", given({ secret: throws })],
  ["misconfigured", "no key is active any more", afterExpiry],
  ["misconfigured", "dedupeBy is event and the body has no event id", given(noId)],
  ["internal_error", "eventType throws", given({ eventType: throws })],
  ["signature_missing", "the signature is missing", sending(unsignedWith(undefined))],
  ["signature_missing", "the signature is empty", sending(unsignedWith(""))],
  ["signature_malformed", "the signature has another prefix", sending(unsignedWith(sha512))],
  ["signature_mismatch", "the signature matches no key", sending(unsignedWith(forgedSignature))],
  [
    "signature_stale",
    "the signed time is too far from the clock",
    sending(Promise.resolve(schemeDelivery(undefined, { at: 0 })), ofScheme),
  ],
  ["delivery_id_missing", "the delivery id is missing", sending(idOf(undefined))],
  ["delivery_id_malformed", "the delivery id has 257 characters", sending(idOf("d".repeat(257)))],
  ["delivery_id_malformed", "the delivery id has a comma", sending(idOf("dlv_1,dlv_2"))],
  ["malformed_body", "the signed bytes are not JSON", sending(signed(`{"type":`))],
  ...(["get", "put", "options", "head", "delete", "patch"] as const).map((method): Case => [
    "method_not_allowed",
    `the method is ${method.toUpperCase()}`,
    async (mount) => request(mount().app)[method]("/webhooks"),
    { allow: "POST" },
  ]),
  ["body_too_large", "Content-Length exceeds maxBodyBytes", given({ maxBodyBytes: 10 })],
  ["body_too_large", "a body without Content-Length exceeds maxBodyBytes", tooLargeInChunks],
  [
    "encoding_unsupported",
    "the body is compressed",
    sending(signedWith({ "content-encoding": "gzip" })),
  ],
  [
    "body_timeout",
    "the body stops arriving",
    sending(signedWith({ "content-length": "1000" }), { bodyTimeoutMs: 20 }),
  ],
  ["overloaded", "as many deliveries as may be are pending", whileFull, retryAfter(fiveToTen)],
  ["draining", "the receiver is shutting down", whileDraining, retryAfter("5")],
  ["aborted", "the client disconnects in the middle of the body", hangingUp],
];

/** The status of each outcome's response. `aborted` has no response. */
const responseStatuses: Readonly<Record<OutcomeCode, number | undefined>> = {
  ...statuses,
  aborted: undefined,
};

/** Headers that Node and Express add to every response. */
const foreignHeaders = new Set(["connection", "date", "keep-alive", "x-powered-by"]);

const ownHeaders = (response: Response) =>
  Object.fromEntries(
    Object.entries(response.headers as Record<string, string>).filter(
      ([name]) => !foreignHeaders.has(name),
    ),
  );

const bodyOf = (code: OutcomeCode, status: number) =>
  status === 200
    ? `{"status":"${code}"}`
    : `{"error":{"code":"${code}","message":"${code.replaceAll("_", " ")}"}}`;

describe.each(expresses)("$name", ({ express }) => {
  test.for(cases)("ends as %s when %s", async ([code, _when, produce, headers]) => {
    const status = responseStatuses[code];
    let observed: ObservedReceiver | undefined;
    const mount: Mount = (options, ...before) => {
      observed = observedReceiver(options);
      const { receiver } = observed;
      // The cast is needed because Express types its apps with its own request class.
      return { receiver, app: expressApp(express, receiver, ...before) as RequestListener };
    };
    const response = await produce(mount, express);
    expect(await observed?.reported(code)).toMatchObject({ code, phase: "answered" });
    expect(response?.status).toBe(status);
    if (!response || status === undefined) return;
    const body = bodyOf(code, status);
    expect(response.text ?? "").toBe(response.request.method === "HEAD" ? "" : body);
    expect(ownHeaders(response)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "content-length": String(body.length),
      ...(status === 401 && { "www-authenticate": "SVC-Signature" }),
      ...headers,
    });
  });
});

const codes = Object.keys(responseStatuses);

test("every outcome code has a case", () => {
  expect(codes.filter((code) => !cases.some(([one]) => one === code))).toEqual([]);
  expect(codes).toHaveLength(30);
});

test("the outcomes table lists all codes, statuses and headers", () => {
  const documented = tableOf("docs/outcomes.md", "outcome").flatMap(
    ({ outcome = "", status = "" }) =>
      codeIn(outcome).map((code) => ({
        code,
        status: Number.parseInt(status, 10) || undefined,
        headers: codeIn(status).map((header) => header.toLowerCase().split(":")[0]),
      })),
  );
  const produced = Object.entries(responseStatuses).map(([code, status]) => {
    const [first = {}, ...others] = cases
      .filter(([one]) => one === code)
      .map(([, , , headers = {}]) => headers);
    // An error's own `Retry-After` appears in only some responses of an outcome.
    const headers = Object.keys(first).filter((name) => others.every((other) => name in other));
    return { code, status, headers };
  });
  const inOrder = (list: readonly { readonly code: string }[]) =>
    list.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  expect(inOrder(documented)).toEqual(inOrder(produced));
});
