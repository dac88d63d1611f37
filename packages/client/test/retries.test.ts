import { describe, expect, test } from "vitest";
import {
  ApiError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  type Client,
} from "../src/index.js";
import { about, email, errorOf, open, operations, prepare } from "./support.js";

/** A fault, and its further members. */
type Fault = readonly [kind: string, more?: object];

const backoff = [about(250)];
const next = about(500, 500);
// The first attempt is slow, so that the next one finds its key in use.
const inProgress: readonly Fault[] = [["slow", { delay_ms: 1_200 }]];
/**
 * Returns the attempt's timeout. Only faults that depend on it need real time. The attempts that follow must not time
 * out on a busy machine.
 */
const limitOf = (kind: string) =>
  kind === "timeout" || kind === "slow" ? { attemptTimeoutMs: 1_000 } : {};

describe("an email is sent once, and its request repeated", () => {
  test.for<[string, readonly Fault[], readonly unknown[]]>([
    ["429, after Retry-After", [["status", { status: 429, retry_after: 7 }]], [about(7_000)]],
    ["500", [["status"]], backoff],
    ["500 two times, with a longer pause", [["status", { times: 2 }]], [...backoff, next]],
    ["503, after Retry-After", [["status", { status: 503, retry_after: 3 }]], [about(3_000)]],
    ["408", [["status", { status: 408 }]], backoff],
    ["a reset connection", [["reset"]], backoff],
    ["a refused connection", [["refused"]], backoff],
    ["an attempt that times out", [["timeout"]], backoff],
    ["a response that is lost", [["response_lost"]], backoff],
    ["409 idempotency_in_progress", inProgress, [...backoff, about(1_000, 500)]],
  ])("after %s", async ([, faults, expected]) => {
    const limits = limitOf(faults[0]?.[0] ?? "");
    const { client, fault, pauses, notes, calls, sends } = await open({}, limits);
    for (const one of faults) await fault(...one);
    const { result, response } = await client.emails.send(email).withResponse();
    expect(pauses).toEqual(expected);
    expect([notes.length, response.attempts]).toEqual([pauses.length + 1, pauses.length + 1]);
    expect(await sends()).toBe(1);
    // All attempts have one key, which the caller receives.
    const keys = (await calls()).map(({ idempotency_key: key }) => key);
    expect(new Set(keys)).toEqual(new Set([result.idempotencyKey]));
  });
});

const errors = { ApiError, ConflictError, ConnectionError, InvalidRequestError, NotFoundError };

describe("a request is not repeated", () => {
  test.for([
    [300, "ApiError"],
    [400, "InvalidRequestError"],
    [403, "ApiError"],
    [404, "NotFoundError"],
    [409, "ConflictError"],
    [413, "InvalidRequestError"],
    [415, "InvalidRequestError"],
    [422, "InvalidRequestError"],
    [418, "ApiError"],
  ] as const)("after %i, which is a %s", async ([status, name]) => {
    const { client, fault, pauses } = await open();
    await fault("status", { status });
    const error = await errorOf(client.emails.send(email));
    expect(error.constructor).toBe(errors[name]);
    expect(error).toMatchObject({ name, status, code: "invalid_request", attempts: 1 });
    expect(pauses).toEqual([]);
  });

  test("after its last retry, and the error has what is needed to continue", async () => {
    const { client, fault, notes } = await open({}, { maxRetries: 3 });
    await fault("status", { times: 10, retry_after: 2 });
    const error = await errorOf(client.emails.send(email, { idempotencyKey: "order-1042" }));
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ attempts: 4, retryAfterMs: 2_000, idempotencyKey: "order-1042" });
    expect(error.headers?.get("retry-after")).toBe("2");
    const none = await errorOf(client.emails.send(email, { maxRetries: 0 }));
    expect([none.attempts, notes.length]).toEqual([1, 5]);
  });
});

/** Returns whether a route may be repeated although the first attempt may have been processed. */
const isRepeatable = (route: string) => route === "POST /v1/emails" || !route.startsWith("POST ");

const faults: Readonly<Record<string, object>> = {
  status: { code: "service_unavailable" },
  reset: { code: "connection_failed" },
  timeout: { code: "attempt_timeout" },
  response_lost: { code: "connection_failed" },
};

describe.for(Object.entries(operations))("%s", ([target, call]) => {
  test.for(Object.entries(faults))(
    `is ${isRepeatable(target) ? "" : "not "}repeated after %s`,
    async ([kind, error]) => {
      const opened = await open({}, { ...limitOf(kind), maxRetries: 1 });
      const { client, fault, notes, calls } = opened;
      const ids = await prepare(opened);
      const before = (await calls()).length;
      await fault(kind, { target });
      await call(client, ids).catch(() => undefined);
      expect(notes[0]).toMatchObject(error);
      expect(notes).toHaveLength(isRepeatable(target) ? 2 : 1);
      expect(await calls()).toHaveLength(before + notes.length);
    },
  );

  test("is repeated after 429, which has not processed it", async () => {
    const opened = await open();
    const ids = await prepare(opened);
    await opened.fault("status", { target, status: 429, retry_after: 1 });
    await call(opened.client, ids);
    expect([opened.notes.map(({ code }) => code), opened.pauses]).toEqual([
      ["rate_limited", undefined],
      [about(1_000)],
    ]);
  });
});

test("a rotation is repeated after a lost response if the caller allows it", async () => {
  const opened = await open();
  const ids = await prepare(opened);
  const target = "POST /v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret";
  await opened.fault("response_lost", { target });
  const rotating = opened.client.webhookEndpoints.rotateSecret(ids.endpoint, { repeat: true });
  const { response, result } = await rotating.withResponse();
  expect([response.attempts, opened.pauses]).toEqual([2, backoff]);
  expect(result.secret.reveal()).toMatch(/^whsec_/);
});

test("a POST with a key of its own is repeated, and one without is not", async () => {
  const { client, fault } = await open();
  const body = { domain_name: "mail.example.test" };
  const create = (idempotencyKey?: string) =>
    client.request("POST", "/v1/domains", { body }, { idempotencyKey }).withResponse();
  await fault("status", { target: "POST /v1/domains" });
  expect((await create("key")).response).toMatchObject({ attempts: 2, status: 201 });
  await fault("status", { target: "POST /v1/domains" });
  expect(await errorOf(create())).toMatchObject({ attempts: 1, status: 500 });
});

const limit: readonly [string, (client: Client) => Promise<unknown>] = [
  "GET /v1/sends/{send_id}",
  ({ sends }) => sends.get("send_1", { deadlineMs: 5_000 }),
];

describe("a wait that would pass the deadline", () => {
  test("fails immediately and states how long it is", async () => {
    const { client, fault, pauses } = await open();
    await fault("status", { target: limit[0], status: 429, retry_after: 5 });
    const error = await errorOf(limit[1](client));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: "rate_limited", attempts: 1, retryAfterMs: 5_000 });
    expect(pauses).toEqual([]);
  });

  test("is one of all attempts together", async () => {
    const { client, fault, pauses } = await open();
    await fault("status", { target: limit[0], status: 429, retry_after: 3, times: 9 });
    const error = await errorOf(limit[1](client));
    expect(error).toMatchObject({ attempts: 2, retryAfterMs: 3_000 });
    expect(pauses).toEqual([about(3_000)]);
  });
});

test("an attempt ends at the deadline", async () => {
  const { client, fault } = await open();
  await fault("timeout");
  const error = await errorOf(client.emails.send(email, { deadlineMs: 100, maxRetries: 0 }));
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ code: "deadline_exceeded", attempts: 1 });
  expect(error.message).toBe(
    "No successful response arrived within 0.1 s. (POST /v1/emails, deadline_exceeded)",
  );
});
