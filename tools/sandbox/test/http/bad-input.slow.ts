import { present } from "@svc-webhooks/kit/present";
import { dial } from "@svc-webhooks/kit/clients";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import { emailRequest } from "../../src/service/schemas.js";
import { apiKey, email, open, receiver, type Opened } from "../support.js";

/** A text in the bodies and paths here, so that a log line that repeats one can be detected. */
const marker = "marker-of-this-request";

interface Case {
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly expected: readonly [status: number, code: string, param?: string];
}

const invalid = (param: string) => [400, "invalid_request", param] as const;
const notFound = (param?: string): Case["expected"] =>
  param === undefined ? [404, "not_found"] : [404, "not_found", param];

const post = (changes: object, param: string): Case => ({
  body: { ...email, html: marker, ...changes },
  expected: invalid(param),
});
const endpoint = (changes: object, param: string): Case => ({
  route: "POST /v1/webhook-endpoints",
  body: { url: "http://127.0.0.1:9", event_types: ["email.sent"], ...changes },
  expected: invalid(param),
});
const domain = (domain_name: unknown): Case => ({
  route: "POST /v1/domains",
  body: { domain_name },
  expected: invalid("domain_name"),
});
const raw = (body: string | Uint8Array): Case => ({ body, expected: invalid("body") });
const auth = (authorization: string | undefined): Case => ({
  headers: { authorization },
  expected: [401, "authentication_required", "Authorization"],
});
const typed = (headers: Case["headers"]): Case => ({
  ...(headers && { headers }),
  expected: [415, "unsupported_media_type"],
});
const unknown = (route: string, param?: string): Case => ({ route, expected: notFound(param) });
const wrongMethod = (route: string): Case => ({ route, expected: [405, "method_not_allowed"] });
const list = (query: string, param: string): Case => ({
  route: `GET /v1/webhook-events?${query}`,
  expected: invalid(param),
});

const cases: Readonly<Record<string, Case>> = {
  "malformed JSON": raw(`{"from": "${marker}`),
  "an empty body": raw(""),
  null: raw("null"),
  "an array": raw(`["${marker}"]`),
  "bytes that are not UTF-8": raw(Uint8Array.from([0x22, 0xff, 0x22])),
  "a subject that is a number": post({ subject: 5 }, "subject"),
  "a subject of 301 characters": post({ subject: "s".repeat(301) }, "subject"),
  "a subject of 301 emoji": post({ subject: "🙂".repeat(301) }, "subject"),
  "an empty subject": post({ subject: "" }, "subject"),
  "no subject": post({ subject: undefined }, "subject"),
  "neither html nor text": post({ html: undefined, text: undefined }, "text"),
  "an empty html": post({ html: "" }, "html"),
  "an empty text": post({ text: "" }, "text"),
  "an html of null": post({ html: null }, "html"),
  "to as a string": post({ to: "ada@example.test" }, "to"),
  "an empty to": post({ to: [] }, "to"),
  "a recipient that is a number": post({ to: ["ada@example.test", 5] }, "to.1"),
  "a deep array as a recipient": raw(
    `{"to": ${"[".repeat(100_000)}${"]".repeat(100_000)}, "x": "${marker}"`,
  ),
  "an object as a recipient": post({ to: [{ address: marker }] }, "to.0"),
  "an address without a domain": post({ from: "ada" }, "from"),
  "an address with an empty domain": post({ to: ["ada@"] }, "to.0"),
  "no from": post({ from: undefined }, "from"),
  "a line break in the subject": post({ subject: `a\r\nBcc: ${marker}@x.test` }, "subject"),
  "a line break in from": post({ from: "a@x.test\r\nBcc: b@x.test" }, "from"),
  "a line break in a recipient": post({ to: ["a@x.test\nBcc: b@x.test"] }, "to.0"),
  "a line separator in the subject": post({ subject: "a\u2028b" }, "subject"),
  "another message class": post({ message_class: marker }, "message_class"),
  "a message class that is a number": post({ message_class: 5 }, "message_class"),
  "no authentication": auth(undefined),
  "an empty authentication": auth(""),
  "another scheme": auth("Basic c3ZjX2xpdmVfMDEyMzQ1Njc4OWFiY2RlZg=="),
  "a scheme without a key": auth("Bearer "),
  "a key without a scheme": auth(apiKey),
  "a key with a space": auth(`Bearer ${apiKey} ${apiKey}`),
  "no idempotency key": {
    headers: { "idempotency-key": undefined },
    expected: [400, "missing_idempotency_key", "Idempotency-Key"],
  },
  "an empty idempotency key": {
    headers: { "idempotency-key": " " },
    expected: [400, "missing_idempotency_key", "Idempotency-Key"],
  },
  "an idempotency key of 10,000 characters": {
    headers: { "idempotency-key": "k".repeat(10_000) },
    expected: invalid("Idempotency-Key"),
  },
  "a body of 2 MiB": {
    body: { ...email, text: "x".repeat(2 ** 21) },
    expected: [413, "body_too_large"],
  },
  "a body of another type": typed({ "content-type": "text/plain" }),
  "a compressed body": typed({ "content-encoding": "gzip" }),
  "empty event_types": endpoint({ event_types: [] }, "event_types"),
  "no event_types": endpoint({ event_types: undefined }, "event_types"),
  "event_types as a string": endpoint({ event_types: "email.sent" }, "event_types"),
  "an unknown event type": endpoint({ event_types: ["email.sent", marker] }, "event_types"),
  "no url": endpoint({ url: undefined }, "url"),
  "a url that is none": endpoint({ url: marker }, "url"),
  "no domain_name": domain(undefined),
  "a domain name of one label": domain("localhost"),
  "a domain name with a space": domain(`${marker} .test`),
  "a domain name of 254 characters": domain(`${"a.".repeat(125)}test`),
  "an unknown send": unknown(`GET /v1/sends/${marker}`, "send_id"),
  "an unknown domain": unknown(`POST /v1/domains/${marker}:verify`, "domain_id"),
  "an unknown event": unknown(`POST /v1/webhook-events/${marker}:redeliver`, "event_id"),
  "an unknown endpoint to rotate": unknown(
    `POST /v1/webhook-endpoints/${marker}:rotate-secret`,
    "webhook_endpoint_id",
  ),
  "an unknown endpoint to archive": unknown(
    `DELETE /v1/webhook-endpoints/${marker}`,
    "webhook_endpoint_id",
  ),
  "an unknown endpoint to list": unknown(
    `GET /v1/webhook-events?webhook_endpoint_id=${marker}`,
    "webhook_endpoint_id",
  ),
  "an id that is not valid percent-encoding": unknown("GET /v1/sends/%ff", "send_id"),
  "an unknown route": unknown(`GET /v1/${marker}`),
  "the root of the version": unknown("GET /v1"),
  "a slash at the end": unknown("POST /v1/emails/"),
  "an unknown verb": unknown("POST /v1/domains/dom_1:check"),
  "a path in capitals": unknown("POST /v1/Emails"),
  "an encoded verb": wrongMethod("POST /v1/webhook-endpoints/we_1%3Arotate-secret"),
  "GET for a POST": wrongMethod("GET /v1/emails"),
  "PUT for a POST": wrongMethod("PUT /v1/domains"),
  "OPTIONS for a POST": wrongMethod("OPTIONS /v1/emails"),
  "a limit of 0": list("limit=0", "limit"),
  "a limit of 101": list("limit=101", "limit"),
  "a limit that is no number": list(`limit=${marker}`, "limit"),
  "a cursor that is none": list("after=!", "after"),
};

/** Lists everything that exists: sends, domains, endpoints and source events with their deliveries. */
const existing = async ({ sends, sourceEvents, control }: Opened) => [
  await sends(),
  await sourceEvents(),
  (await control("GET domains")).text,
  (await control("GET endpoints")).text,
];

/** Functions that read an error's code, parameter and request id, for each shape of A-11. */
const shapes = {
  nested: (body: unknown) => (body as { readonly error: Facts }).error,
  flat: (body: unknown) => body as Facts,
  problem: (body: unknown) => body as Facts,
} as const;

interface Facts {
  readonly code: string;
  readonly param?: string;
  readonly request_id: string;
}

const request = ({ call }: Opened, { route = "POST /v1/emails", headers, body }: Case) =>
  call(route, /^(?:GET|OPTIONS)/.test(route) ? undefined : (body ?? email), {
    "idempotency-key": "one",
    ...headers,
  });

/** Returns everything that is recorded or printed, as text. */
const everything = async ({ calls, control, lines }: Opened) => {
  const kept = (await calls()).map(async ({ id, send }) => [
    (await control(`GET calls/${id}?full=true`)).text,
    send && (await control(`GET sends/${send.id}?full=true`)).text,
  ]);
  return JSON.stringify([lines, await Promise.all(kept)]);
};

describe("bad input", () => {
  test.for(Object.entries(cases))("%s is refused in each error shape", async ([, bad]) => {
    const opened = await open();
    const { url } = await receiver();
    await opened.register(url, "email.sent", "domain.updated");
    const before = await existing(opened);
    for (const [shape, read] of Object.entries(shapes)) {
      await opened.control("POST assumptions/A-11", { value: shape });
      const response = await request(opened, bad);
      const facts = read(response.body);
      const [status, code, param] = bad.expected;
      expect([response.status, facts.code, facts.param]).toEqual([status, code, param]);
      expect(facts.request_id).toBe(response.headers.get("x-request-id"));
      expect(facts.request_id).toMatch(/^call_\w{20}$/);
      expect(response.headers.get("content-type")).toBe(
        shape === "problem" ? "application/problem+json" : "application/json",
      );
      expect(response.headers.has("allow")).toBe(status === 405);
      expect(response.headers.has("www-authenticate")).toBe(status === 401);
    }
    await opened.clock.advance(0);
    expect(await existing(opened)).toEqual(before);
    expect(opened.lines).toEqual([]);
    expect(await everything(opened)).not.toContain(apiKey);
    // The key of a rejected request can be used again.
    expect((await request(opened, { expected: [202, ""] })).status).toBe(202);
  });

  test("does not include 300 emoji, a charset, or an unknown field", async () => {
    const opened = await open();
    const response = await request(opened, {
      headers: { "content-type": "Application/JSON; charset=utf-8" },
      body: { ...email, subject: "🙂".repeat(300), unknown: [[[marker]]] },
      expected: [202, ""],
    });
    expect(response.status).toBe(202);
    expect(await everything(opened)).not.toContain(apiKey);
    expect(opened.lines.join()).not.toContain(marker);
  });

  test("is judged by the first invalid item of a list, however many there are", async () => {
    const to = ["ada@example.test", 1, "", "a", null, 5];
    expect(emailRequest.safeParse({ ...email, to }).error?.issues).toHaveLength(1);
    const { call } = await open();
    const { body } = await call("POST /v1/emails", { ...email, to }, { "idempotency-key": "a" });
    expect(body.error).toMatchObject({ param: "to.1", message: "to.1 must be a string." });
  });

  test("HEAD is refused without a body", async () => {
    const { url } = await open();
    const response = await fetch(`${url}/v1/emails`, {
      method: "HEAD",
      headers: { authorization: "Bearer a" },
    });
    expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([
      405,
      "POST",
      "",
    ]);
  });
});

describe("on the wire", () => {
  const json = JSON.stringify(email);
  /** Returns a request's head. {@link connect} replaces `PORT` with the port. */
  const head = (...more: string[]) =>
    [
      "POST /v1/emails HTTP/1.1",
      "Host: localhost:PORT",
      `Authorization: Bearer ${apiKey}`,
      "Idempotency-Key: one",
      "Content-Type: application/json",
      ...more,
      "",
      "",
    ].join("\r\n");
  const connect = ({ url }: Opened) => {
    const { port } = new URL(url);
    const connection = dial(Number(port));
    const write = (bytes: string) => connection.write(bytes.replace("PORT", port));
    return { ...connection, write };
  };
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

  test.for([
    ["malformed HTTP", "nonsense\r\n\r\n", 400],
    ["headers of 20,000 characters", head(`X-Long: ${"x".repeat(20_000)}`), 431],
    ["two lengths", head(`Content-Length: ${json.length}`, "Content-Length: 5") + json, 400],
    [
      "a length and chunks",
      head("Content-Length: 5", "Transfer-Encoding: chunked") + chunk(json) + chunk(""),
      400,
    ],
    ["a path of two slashes", head("Content-Length: 0").replace("/v1", "//v1"), 404],
    [
      "chunks over the limit",
      head("Transfer-Encoding: chunked") + chunk("x".repeat(2 ** 21)) + chunk(""),
      413,
    ],
    ["a declared length over the limit", head("Content-Length: 99999999"), 413],
  ] as const)("%s is refused, and nothing is created", async ([, bytes, status]) => {
    const opened = await open();
    const before = await existing(opened);
    const connection = connect(opened);
    connection.write(bytes);
    const seen = await Promise.race([connection.response, connection.closed]);
    expect(seen).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect([await existing(opened), opened.lines]).toEqual([before, []]);
    expect((await opened.send()).status).toBe(202);
  });

  test("a client that expects 100 Continue is served", async () => {
    const opened = await open();
    const connection = connect(opened);
    connection.write(
      head(`Content-Length: ${json.length}`, "Expect: 100-continue", "Connection: close"),
    );
    await until(async () => (await opened.calls()).length === 1, "the head has arrived");
    connection.write(json);
    expect(await connection.closed).toMatch(/^HTTP\/1.1 100 .*\r\n\r\nHTTP\/1.1 202 /s);
  });

  test("a body that stalls and is given up holds nothing but its socket", async () => {
    const opened = await open();
    const connection = connect(opened);
    connection.write(head("Content-Length: 1000") + `{"text": "${marker}`);
    await until(async () => (await opened.calls()).length === 1, "the head has arrived");
    expect((await opened.send({}, { "idempotency-key": "one" })).status).toBe(202);
    connection.destroy();
    const first = async () => present((await opened.calls())[0]);
    await until(async () => (await first()).status !== 0, "the call has ended");
    expect(await first()).toMatchObject({ status: 400, code: "invalid_request" });
    expect(opened.lines.join()).not.toContain(marker);
    expect(await opened.sends()).toHaveLength(1);
  });
});
