import {
  memoryStore,
  PermanentError,
  RetryError,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
  type StandardSchemaV1,
} from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import type { RequestListener } from "node:http";
import request, { type Response } from "supertest";
import { describe, expect, expectTypeOf, test } from "vitest";
import { dial, requestHead } from "./support/clients.js";
import {
  eventBody,
  forgedSignature,
  signed,
  unsigned,
  type TestDelivery,
} from "./support/deliveries.js";
import { gate } from "./support/gate.js";
import {
  call,
  claimBy,
  observedReceiver,
  recordedStore,
  type ObservedReceiver,
} from "./support/receivers.js";
import { codeIn, tableOf } from "./support/tables.js";
import { expressApp, expresses, listen, type Express, type Middleware } from "./support/servers.js";

interface Bench {
  readonly express: Express;
  /** The app with a receiver of these options; it stays the same for all deliveries of a case. */
  readonly app: (
    options?: Partial<ReceiverOptions>,
    ...before: readonly Middleware[]
  ) => RequestListener;
  /** The receiver of `app`. */
  readonly receiver: () => Receiver | undefined;
}

interface Case {
  readonly when: string;
  /** The answer; nobody sees one of `aborted`. */
  readonly status: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Produces the outcome and brings the answer. */
  readonly produce: (bench: Bench) => Promise<Response | undefined>;
}

const post = (app: RequestListener, { headers, body }: TestDelivery): Promise<Response> =>
  Promise.resolve(
    request(app)
      .post("/webhooks")
      .set(headers as Record<string, string>)
      // Otherwise superagent makes JSON of a Buffer.
      .serialize((bytes: string) => bytes)
      .send(body),
  );

const schemaBy = (validate: StandardSchemaV1["~standard"]["validate"]): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate },
});

// What a schema has to say is for the operator: none of it may get into the answer.
const refusal = { issues: [{ message: "confidential", path: ["customer"] }] };
const refusing = schemaBy(() => refusal);
const refusingLater = schemaBy(() => Promise.resolve(refusal));

const cases: Readonly<Record<OutcomeCode, readonly Case[]>> = {
  processed: [
    {
      when: "the handler resolved",
      status: 200,
      produce: async ({ app }) => post(app(), await signed()),
    },
  ],
  ignored: [
    {
      when: "no handler matches the type",
      status: 200,
      produce: async ({ app }) =>
        post(app({ on: { "email.*": () => {} } }), await signed(eventBody("domain.updated"))),
    },
  ],
  duplicate: [
    {
      when: "the delivery was processed before",
      status: 200,
      async produce({ app }) {
        const mounted = app();
        await post(mounted, await signed());
        return post(mounted, await signed());
      },
    },
  ],
  parked: [
    {
      when: "the record was put aside",
      status: 200,
      async produce({ app }) {
        const { store, onlyKey } = recordedStore();
        const mounted = app({ store, on: { "*": () => Promise.reject(new Error("no")) } });
        await post(mounted, await signed());
        await store.claim(onlyKey(), claimBy("operator"), call);
        await store.release(onlyKey(), { ...claimBy("operator"), to: "parked" }, call);
        return post(mounted, await signed());
      },
    },
    {
      when: "the handler gave up for good",
      status: 200,
      produce: async ({ app }) =>
        post(app({ on: { "*": () => Promise.reject(new PermanentError("no")) } }), await signed()),
    },
    {
      when: "its runs are used up",
      status: 200,
      async produce({ app }) {
        const on = { "*": () => Promise.reject(new Error("no")) };
        const mounted = app({ on, maxRuns: 1, onParked: () => {} });
        await post(mounted, await signed());
        return post(mounted, await signed());
      },
    },
  ],
  in_flight: [
    {
      when: "another worker holds the lease for long",
      status: 503,
      headers: { "retry-after": "5" },
      produce: (bench) => whileInFlight(bench, 0),
    },
    {
      when: "another worker's lease ends in 2.5 s",
      status: 503,
      headers: { "retry-after": "3" },
      produce: (bench) => whileInFlight(bench, 27_500),
    },
  ],
  handler_timeout: [
    {
      when: "the handler takes its time",
      status: 503,
      headers: { "retry-after": "5" },
      async produce({ app }) {
        const clock = fakeClock();
        const [started, finish] = [gate(), gate()];
        const on = {
          "*": () => {
            started.open();
            return finish.opened;
          },
        };
        const answer = post(app({ clock, on, handlerTimeoutMs: 4_000 }), await signed());
        await started.opened;
        await clock.advance(4_000);
        finish.open();
        return answer;
      },
    },
  ],
  handler_failed: [
    {
      when: "the handler rejected",
      status: 500,
      produce: async ({ app }) =>
        post(app({ on: { "*": () => Promise.reject(new Error("no")) } }), await signed()),
    },
    {
      when: "the handler threw",
      status: 500,
      async produce({ app }) {
        const on = {
          "*": () => {
            throw new Error("no");
          },
        };
        return post(app({ on }), await signed());
      },
    },
    {
      when: "the handler asks for a later attempt",
      status: 500,
      headers: { "retry-after": "91" },
      async produce({ app }) {
        const on = { "*": () => Promise.reject(new RetryError({ retryAfterMs: 90_001 })) };
        return post(app({ on }), await signed());
      },
    },
  ],
  event_invalid: [
    {
      when: "the schema of its type refuses it",
      status: 500,
      produce: async ({ app }) => post(app({ events: { "email.sent": refusing } }), await signed()),
    },
    {
      when: "the schema of its type refuses it after a while",
      status: 500,
      produce: async ({ app }) =>
        post(app({ events: { "email.sent": refusingLater } }), await signed()),
    },
  ],
  event_untyped: [
    {
      when: "the signed object has no type",
      status: 500,
      produce: async ({ app }) => post(app(), await signed(`{"type":""}`)),
    },
  ],
  store_unavailable: [
    {
      when: "the store refuses",
      status: 503,
      headers: { "retry-after": "5" },
      async produce({ app }) {
        const { store } = recordedStore({ claim: () => Promise.reject(new Error("down")) });
        return post(app({ store }), await signed());
      },
    },
    {
      when: "the store does not answer within its deadline",
      status: 503,
      headers: { "retry-after": "5" },
      async produce({ app }) {
        const clock = fakeClock();
        const claimed = gate();
        const { store } = recordedStore({
          claim() {
            claimed.open();
            return new Promise(() => {});
          },
        });
        const answer = post(app({ clock, store }), await signed());
        await claimed.opened;
        await clock.advance(1_500);
        return answer;
      },
    },
  ],
  body_unavailable: [
    {
      when: "a parser consumed the bytes",
      status: 500,
      produce: async ({ app, express }) => post(app({}, express.json()), await signed()),
    },
  ],
  misconfigured: [
    {
      when: "the secret function throws",
      status: 500,
      async produce({ app }) {
        const secret = () => {
          throw new Error("vault closed");
        };
        return post(app({ secret }), await signed());
      },
    },
    {
      when: "no key is active any more",
      status: 500,
      async produce({ app }) {
        const clock = fakeClock();
        const secret = [{ id: "old", key: "whsec_test", expiresAt: clock.now() + 1 }];
        const mounted = app({ clock, secret });
        clock.jump(1);
        return post(mounted, await signed());
      },
    },
    {
      when: "events are told apart by an id that the body does not have",
      status: 500,
      produce: async ({ app }) =>
        post(app({ dedupeBy: "event", eventId: () => undefined }), await signed()),
    },
  ],
  internal_error: [
    {
      when: "eventType throws",
      status: 500,
      async produce({ app }) {
        const eventType = () => {
          throw new Error("oops");
        };
        return post(app({ eventType }), await signed());
      },
    },
  ],
  signature_missing: [
    {
      when: "there is no signature",
      status: 401,
      produce: async ({ app }) => post(app(), unsigned()),
    },
    {
      when: "the signature is empty",
      status: 401,
      produce: async ({ app }) => post(app(), unsigned(eventBody(), { "x-svc-signature": "" })),
    },
  ],
  signature_malformed: [
    {
      when: "the signature has another prefix",
      status: 401,
      produce: async ({ app }) =>
        post(
          app(),
          unsigned(eventBody(), { "x-svc-signature": forgedSignature.replace("256", "512") }),
        ),
    },
  ],
  signature_mismatch: [
    {
      when: "no key made the signature",
      status: 401,
      produce: async ({ app }) =>
        post(app(), unsigned(eventBody(), { "x-svc-signature": forgedSignature })),
    },
  ],
  delivery_id_missing: [
    {
      when: "there is no delivery id",
      status: 400,
      produce: async ({ app }) =>
        post(app(), await signed(eventBody(), { "x-svc-delivery-id": undefined })),
    },
  ],
  delivery_id_malformed: [
    {
      when: "the delivery id has 257 characters",
      status: 400,
      produce: async ({ app }) =>
        post(app(), await signed(eventBody(), { "x-svc-delivery-id": "d".repeat(257) })),
    },
    {
      when: "the delivery id has a comma",
      status: 400,
      produce: async ({ app }) =>
        post(app(), await signed(eventBody(), { "x-svc-delivery-id": "dlv_1,dlv_2" })),
    },
  ],
  malformed_body: [
    {
      when: "the signed bytes are no JSON",
      status: 400,
      produce: async ({ app }) => post(app(), await signed(`{"type":`)),
    },
  ],
  method_not_allowed: (["get", "put", "options", "head", "delete", "patch"] as const).map(
    (method) => ({
      when: `the method is ${method.toUpperCase()}`,
      status: 405,
      headers: { allow: "POST" },
      produce: async ({ app }) => request(app())[method]("/webhooks"),
    }),
  ),
  body_too_large: [
    {
      when: "more than maxBodyBytes are announced",
      status: 413,
      produce: async ({ app }) => post(app({ maxBodyBytes: 10 }), await signed()),
    },
    {
      when: "more than maxBodyBytes come unannounced",
      status: 413,
      async produce({ app }) {
        const { headers, body } = await signed();
        const streamed = request(app({ maxBodyBytes: 10 })).post("/webhooks");
        streamed.set(headers as Record<string, string>).write(body);
        return streamed;
      },
    },
  ],
  encoding_unsupported: [
    {
      when: "the body is compressed",
      status: 415,
      produce: async ({ app }) =>
        post(app(), await signed(eventBody(), { "content-encoding": "gzip" })),
    },
  ],
  body_timeout: [
    {
      when: "the body stops arriving",
      status: 408,
      async produce({ app }) {
        const { headers, body } = await signed();
        const announced = { ...headers, "content-length": String(body.length + 1) };
        return post(app({ bodyTimeoutMs: 20 }), { method: "POST", headers: announced, body });
      },
    },
  ],
  draining: [
    {
      when: "the receiver is shutting down",
      status: 503,
      headers: { "retry-after": "5" },
      async produce({ app, receiver }) {
        const [started, finish] = [gate(), gate()];
        const mounted = app({
          on: {
            "*": () => {
              started.open();
              return finish.opened;
            },
          },
        });
        const running = post(mounted, await signed());
        await started.opened;
        const drained = receiver()?.drain({ deadlineMs: 60_000 });
        const refused = await post(
          mounted,
          await signed(eventBody(), { "x-svc-delivery-id": "dlv_2" }),
        );
        finish.open();
        expect((await running).status).toBe(200);
        expect(await drained).toBe(0);
        return refused;
      },
    },
  ],
  aborted: [
    {
      when: "the client hangs up in the middle of the body",
      status: undefined,
      async produce({ app }) {
        const reading = gate();
        const port = await listen(
          app({}, (_request, _response, next) => {
            next();
            reading.open();
          }),
        );
        const { headers } = await signed();
        const client = dial(port);
        client.write(`${requestHead({ ...headers, "content-length": "1000" })}{"type":`);
        await reading.opened;
        client.destroy();
        expect(await client.closed).toBe("");
        return undefined;
      },
    },
  ],
};

/** A copy of a delivery comes while the first one has been running for a while. */
async function whileInFlight({ app }: Bench, afterMs: number): Promise<Response> {
  const clock = fakeClock();
  const [started, finish] = [gate(), gate()];
  const mounted = app({
    clock,
    store: memoryStore({ clock }),
    on: {
      "*": () => {
        started.open();
        return finish.opened;
      },
    },
  });
  const first = post(mounted, await signed());
  await started.opened;
  clock.jump(afterMs);
  const copy = await post(mounted, await signed());
  finish.open();
  expect((await first).status).toBe(200);
  return copy;
}

/** What HTTP, Node and Express add to every answer. */
const notOurs = new Set(["connection", "date", "keep-alive", "x-powered-by"]);

const ourHeaders = (answer: Response) =>
  Object.fromEntries(
    Object.entries(answer.headers as Record<string, string>).filter(([name]) => !notOurs.has(name)),
  );

const bodyOf = (code: OutcomeCode, status: number) =>
  status === 200
    ? `{"status":"${code}"}`
    : `{"error":{"code":"${code}","message":"${code.replaceAll("_", " ")}"}}`;

const everyCase = Object.entries(cases).flatMap(([code, some]) =>
  some.map((one) => ({ code: code as OutcomeCode, ...one })),
);

describe.each(expresses)("$name", ({ express }) => {
  test.each(everyCase)("answers $code when $when", async ({ code, status, headers, produce }) => {
    let observed: ObservedReceiver | undefined;
    const answer = await produce({
      express,
      receiver: () => observed?.receiver,
      app(options, ...before) {
        observed = observedReceiver(options);
        // Express types its apps for its own request class.
        return expressApp(express, observed.receiver, ...before) as RequestListener;
      },
    });

    expect(await observed?.reported(code)).toMatchObject({ code, phase: "answered" });
    expect(answer?.status).toBe(status);
    if (!answer || status === undefined) return;
    const body = bodyOf(code, status);
    expect(answer.text ?? "").toBe(answer.request.method === "HEAD" ? "" : body);
    expect(ourHeaders(answer)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "content-length": String(body.length),
      ...(status === 401 && { "www-authenticate": "SVC-Signature" }),
      ...headers,
    });
  });
});

test("every code of the closed list was asked for, and no other", () => {
  expectTypeOf<keyof typeof cases>().toEqualTypeOf<OutcomeCode>();
  expect(Object.values(cases).filter((some) => some.length === 0)).toEqual([]);
  expect(Object.keys(cases)).toHaveLength(25);
});

test("the table of outcomes has their codes, statuses and headers", () => {
  const documented = tableOf("docs/outcomes.md", "outcome").flatMap(
    ({ outcome = "", status = "" }) =>
      codeIn(outcome).map((code) => ({
        code,
        status: Number.parseInt(status, 10) || undefined,
        headers: codeIn(status).map((header) => header.toLowerCase().split(":")[0]),
      })),
  );
  const produced = Object.entries(cases).map(([code, some]) => ({
    code,
    status: some[0]?.status,
    // An error's own `Retry-After` comes with some of the responses of its outcome only.
    headers: Object.keys(some[0]?.headers ?? {}).filter((header) =>
      some.every(({ headers = {} }) => header in headers),
    ),
  }));
  const inOrder = (list: readonly { readonly code: string }[]) =>
    list.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  expect(inOrder(documented)).toEqual(inOrder(produced));
});
