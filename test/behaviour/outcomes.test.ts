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
  observedReceiver,
  recordedStore,
  type ObservedReceiver,
} from "@svc-webhooks/kit/receivers";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import {
  expressApp,
  expresses,
  listen,
  type Express,
  type Middleware,
} from "@svc-webhooks/kit/servers";

interface Bench {
  readonly express: Express;
  /** An app with a receiver with these options. A case uses one app for all its deliveries. */
  readonly app: (
    options?: Partial<ReceiverOptions>,
    ...before: readonly Middleware[]
  ) => RequestListener;
  /** The receiver of `app`. */
  readonly receiver: () => Receiver | undefined;
}

interface Case {
  readonly when: string;
  /** The response's status; undefined for `aborted`, which has no response. */
  readonly status: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Produces the outcome and resolves with the response. */
  readonly produce: (bench: Bench) => Promise<Response | undefined>;
}

const post = (app: RequestListener, { headers, body }: TestDelivery): Promise<Response> =>
  Promise.resolve(
    request(app)
      .post("/webhooks")
      .set(headers as Record<string, string>)
      // By default, superagent serialises a Buffer as JSON.
      .serialize((bytes: string) => bytes)
      .send(body),
  );

const schemaBy = (validate: StandardSchemaV1["~standard"]["validate"]): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate },
});

// Schema issues are for the operator and must not appear in the response.
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
      when: "the record was parked",
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
      when: "the handler throws a PermanentError",
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
      when: "another worker holds the lease for 30 s",
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
      when: "the handler exceeds handlerTimeoutMs",
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
        const response = post(app({ clock, on, handlerTimeoutMs: 4_000 }), await signed());
        await started.opened;
        await clock.advance(4_000);
        finish.open();
        return response;
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
      when: "the handler throws a RetryError",
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
      when: "the schema of its type rejects it",
      status: 500,
      produce: async ({ app }) => post(app({ events: { "email.sent": refusing } }), await signed()),
    },
    {
      when: "an asynchronous schema of its type rejects it",
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
      when: "the store rejects",
      status: 503,
      headers: { "retry-after": "5" },
      async produce({ app }) {
        const { store } = recordedStore({ claim: () => Promise.reject(new Error("down")) });
        return post(app({ store }), await signed());
      },
    },
    {
      when: "the store does not reply within its deadline",
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
        const response = post(app({ clock, store }), await signed());
        await claimed.opened;
        await clock.advance(1_500);
        return response;
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
      when: "dedupeBy is event and the body has no event id",
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
      when: "the signature is missing",
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
      when: "the signature matches no key",
      status: 401,
      produce: async ({ app }) =>
        post(app(), unsigned(eventBody(), { "x-svc-signature": forgedSignature })),
    },
  ],
  delivery_id_missing: [
    {
      when: "the delivery id is missing",
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
      when: "the signed bytes are not JSON",
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
      when: "Content-Length exceeds maxBodyBytes",
      status: 413,
      produce: async ({ app }) => post(app({ maxBodyBytes: 10 }), await signed()),
    },
    {
      when: "a body without Content-Length exceeds maxBodyBytes",
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
        const rejected = await post(
          mounted,
          await signed(eventBody(), { "x-svc-delivery-id": "dlv_2" }),
        );
        finish.open();
        expect((await running).status).toBe(200);
        expect(await drained).toBe(0);
        return rejected;
      },
    },
  ],
  aborted: [
    {
      when: "the client disconnects in the middle of the body",
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

/** Sends a copy of a delivery `afterMs` after the first one has started. */
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

/** Headers that HTTP, Node and Express add to every response. */
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

const everyCase = Object.entries(cases).flatMap(([code, some]) =>
  some.map((one) => ({ code: code as OutcomeCode, ...one })),
);

describe.each(expresses)("$name", ({ express }) => {
  test.each(everyCase)("ends as $code when $when", async ({ code, status, headers, produce }) => {
    let observed: ObservedReceiver | undefined;
    const response = await produce({
      express,
      receiver: () => observed?.receiver,
      app(options, ...before) {
        observed = observedReceiver(options);
        // Express types its apps with its own request class.
        return expressApp(express, observed.receiver, ...before) as RequestListener;
      },
    });

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

test("every outcome code has a case", () => {
  expectTypeOf<keyof typeof cases>().toEqualTypeOf<OutcomeCode>();
  expect(Object.values(cases).filter((some) => some.length === 0)).toEqual([]);
  expect(Object.keys(cases)).toHaveLength(25);
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
  const produced = Object.entries(cases).map(([code, some]) => ({
    code,
    status: some[0]?.status,
    // Only some responses of an outcome carry an error's own `Retry-After`.
    headers: Object.keys(some[0]?.headers ?? {}).filter((header) =>
      some.every(({ headers = {} }) => header in headers),
    ),
  }));
  const inOrder = (list: readonly { readonly code: string }[]) =>
    list.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  expect(inOrder(documented)).toEqual(inOrder(produced));
});
