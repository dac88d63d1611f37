import { describe, expect, test } from "vitest";
import { apiKey, email, open, subscribed } from "../support.js";

// Each test checks one fact of docs/interface.md. docs/interface-table.md refers to it by its title.

describe("POST /v1/emails", () => {
  test("responds 202 to a valid request, before anything is delivered", async () => {
    const { send, got, settle } = await subscribed();
    expect((await send()).status).toBe(202);
    await settle();
    expect(got).toHaveLength(2);
  });

  test.each([
    ["email_id", "msg_"],
    ["message_id", "msg_"],
    ["send_id", "send_"],
  ] as const)("returns %s with the prefix %s", async (field, prefix) => {
    const { send } = await subscribed();
    const { body } = await send();
    expect(body[field]).toMatch(new RegExp(`^${prefix}\\w+$`));
  });

  test.each([
    ["status", "accepted"],
    ["subject", email.subject],
    ["from", email.from],
    ["recipients", { to: email.to }],
    ["message_class", "transactional"],
  ])("returns %s as documented", async (field, value) => {
    const { send } = await subscribed();
    expect((await send()).body).toHaveProperty(field, value);
  });

  test("returns created_at as an ISO 8601 UTC timestamp", async () => {
    const { send, sandbox } = await subscribed();
    const { created_at: text } = (await send()).body;
    expect(text).toBe(new Date(sandbox.clock.now()).toISOString());
  });

  test("returns exactly the documented fields", async () => {
    const { send } = await subscribed();
    expect(Object.keys((await send()).body)).toEqual([
      "email_id",
      "message_id",
      "send_id",
      "status",
      "subject",
      "from",
      "recipients",
      "message_class",
      "created_at",
    ]);
  });

  test.each([
    ["from", undefined],
    ["from", 1],
    ["from", "ada"],
    ["to", undefined],
    ["to", "ada@example.test"],
    ["to", []],
    ["to", [1]],
    ["subject", undefined],
    ["subject", 1],
    ["html", 1],
    ["text", 1],
  ])("refuses %s = %j with 400 invalid_request", async (field, value) => {
    const { send } = await open();
    const { status, body } = await send({ [field]: value });
    expect(status).toBe(400);
    expect(body.error.code).toBe("invalid_request");
    expect(body.error.param.split(".")[0]).toBe(field);
  });

  test.each([
    ["300 characters", "x".repeat(300), 202],
    ["301 characters", "x".repeat(301), 400],
    ["300 emoji", "📨".repeat(300), 202],
  ])("a subject of %s gets its documented status", async (_name, subject, expected) => {
    const { send } = await open();
    expect((await send({ subject })).status).toBe(expected);
  });

  test.each([
    ["html alone", { text: undefined }, 202],
    ["text alone", { html: undefined }, 202],
    ["both html and text", {}, 202],
    ["neither html nor text", { html: undefined, text: undefined }, 400],
  ])("an email with %s gets its documented status", async (_name, part, expected) => {
    const { send } = await open();
    expect((await send(part)).status).toBe(expected);
  });

  test("message_class is transactional by default, and no other class is accepted", async () => {
    const { send } = await open();
    const named = await send({ message_class: "transactional" });
    expect(named.status).toBe(202);
    const other = await send({ message_class: "marketing" });
    expect(other.status).toBe(400);
    expect(other.body.error.param).toBe("message_class");
  });

  test("400 missing_idempotency_key without Idempotency-Key, and nothing is sent", async () => {
    const { send, got, settle } = await subscribed();
    const { status, body } = await send({}, { "idempotency-key": null });
    expect({ status, code: body.error.code }).toEqual({
      status: 400,
      code: "missing_idempotency_key",
    });
    await settle();
    expect(got).toHaveLength(0);
  });

  test("a retry with the same key gets the same send, which happens once", async () => {
    const { call, got, settle } = await subscribed();
    const first = await call("POST /v1/emails", email, { "idempotency-key": "order-1" });
    const second = await call("POST /v1/emails", email, { "idempotency-key": "order-1" });
    expect(second.text).toBe(first.text);
    await settle();
    expect(got).toHaveLength(2);
  });
});

describe("sends and domains", () => {
  test("the status of a send is found by its send_id", async () => {
    const { call, send, settle } = await subscribed();
    const { body } = await send();
    await settle();
    const found = await call(`GET /v1/sends/${body.send_id}`);
    expect(found.status).toBe(200);
    expect(found.body).toMatchObject({ send_id: body.send_id, status: "delivered" });
  });

  test("a domain is created by domain_name, which is required and a string", async () => {
    const { call } = await open();
    const created = await call("POST /v1/domains", { domain_name: "mail.example.test" });
    expect(created.body).toMatchObject({ domain_name: "mail.example.test" });
    for (const request of [{}, { domain_name: 1 }]) {
      const { status, body } = await call("POST /v1/domains", request);
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    }
  });

  test("the id of a domain is used to verify it", async () => {
    const { call } = await open();
    const { body } = await call("POST /v1/domains", { domain_name: "example.test" });
    const verified = await call(`POST /v1/domains/${body.domain_id}:verify`);
    expect(verified.body).toMatchObject({ domain_id: body.domain_id, status: "verified" });
  });

  test("a verified domain may be the domain of from", async () => {
    const { call, send } = await open({ assumptions: { "A-06": "reject" } });
    const before = await send();
    expect([before.status, before.body.error.param]).toEqual([400, "from"]);
    const { body } = await call("POST /v1/domains", { domain_name: "mail.example.test" });
    await call(`POST /v1/domains/${body.domain_id}:verify`);
    expect((await send()).status).toBe(202);
  });

  test("a domain that is not verified is reported once, by name, in each log", async () => {
    const lines: string[] = [];
    const log = (line: string) => void lines.push(line);
    for (const { send } of [await open({ log }), await open({ log })]) {
      await send();
      await send();
      await send({ from: "ada@other.test" });
    }
    expect(lines).toEqual([
      expect.stringContaining(" mail.example.test is not verified (A-06)"),
      expect.stringContaining(" other.test is not verified (A-06)"),
    ]);
  });
});

const everyRoute = [
  "POST /v1/emails",
  "GET /v1/sends/send_1",
  "POST /v1/domains",
  "POST /v1/domains/dom_1:verify",
  "GET /v1/webhook-event-types",
  "POST /v1/webhook-endpoints",
  "GET /v1/webhook-events",
  "POST /v1/webhook-events/evt_1:redeliver",
  "POST /v1/webhook-endpoints/we_1:rotate-secret",
  "DELETE /v1/webhook-endpoints/we_1",
];

describe("every operation", () => {
  test.each(everyRoute)("401 authentication_required without an API key: %s", async (route) => {
    const { call } = await open();
    for (const value of [null, "", "Bearer", "Bearer ", "Basic c3ZjOng=", apiKey]) {
      const { status, body } = await call(route, undefined, { authorization: value });
      expect([value, status, body.error.code]).toEqual([value, 401, "authentication_required"]);
    }
  });

  test.each(everyRoute)("is only found under /v1: %s", async (route) => {
    const { call } = await open();
    for (const version of ["", "/v2"]) {
      const { status } = await call(route.replace("/v1", version));
      expect(status).toBe(404);
    }
  });

  test.each(["POST /v1/emails", "POST /v1/domains", "POST /v1/webhook-endpoints"])(
    "takes its body as application/json: %s",
    async (route) => {
      const { call } = await open();
      for (const type of [null, "text/plain", "application/x-www-form-urlencoded"]) {
        const { status, headers } = await call(route, "{}", { "content-type": type });
        expect([type, status]).toEqual([type, 415]);
        expect(headers.get("content-type")).toBe("application/json");
      }
    },
  );

  test("429 rate_limited has Retry-After and X-RateLimit headers, and passes with time", async () => {
    const { call, sandbox } = await open({ assumptions: { "A-16": "epoch:2/30s" } });
    await call("GET /v1/webhook-events");
    await call("GET /v1/webhook-events");
    const { status, body, headers } = await call("GET /v1/webhook-events");
    expect([status, body.error.code]).toEqual([429, "rate_limited"]);
    expect(headers.get("retry-after")).toBe("30");
    expect(headers.get("x-ratelimit-limit")).toBe("2");
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
    expect(headers.get("x-ratelimit-reset")).toMatch(/^\d{10}$/);
    await sandbox.clock.advance(30_000);
    expect((await call("GET /v1/webhook-events")).status).toBe(200);
  });
});
