import type { RequestListener, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createClient, type Client, type ClientOptions, type SvcError } from "../src/index.js";
import { about, against, email, errorOf } from "./support.js";

type Respond = (response: ServerResponse) => void;

const responding =
  (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end(text);

const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };
const page = `<!doctype html><html><head><style>b { color: red }</style><title>502 Bad Gateway</title></head>
  <body><h1>502 Bad Gateway</h1><script>location = "/"</script><hr>nginx</body></html>`;

/** Closes the connection in the middle of a body. */
const cut =
  (headers: Readonly<Record<string, string | number>>): Respond =>
  (response) => {
    response.writeHead(200, { ...json, ...headers });
    response.write('{"send_id": "send_1", "sta', () => response.destroy());
  };

/** Ends the body by closing the connection, as HTTP/1.0 does, so that only its JSON is incomplete. */
const cutWithoutLength: Respond = (response) =>
  void response.socket?.end(
    'HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{"send_id": "send_1", "sta',
  );

const get = async (respond: Respond, options: ClientOptions = {}) => {
  const { client, notes, pauses } = await against(
    (_request, response) => respond(response),
    options,
  );
  return { error: await errorOf(client.sends.get("send_1")), notes, pauses };
};

/** Returns the message without the request. */
const textOf = ({ message }: SvcError) => message.replace(/ \(GET .*$/, "");

const unexpected = { name: "InvalidResponseError", code: "invalid_response" };
const dropped = { name: "ConnectionError", code: "connection_failed" };

describe("a response that is larger than maxResponseBytes", () => {
  /** Writes until the client has closed the connection. */
  const endless =
    (status: number, start: string): Respond =>
    (response) => {
      response.writeHead(status, json).write(start);
      const more = () => {
        while (!response.destroyed && response.write(" ".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    };

  test("is refused after 1 MiB by default, and is not requested again", async () => {
    const { error, notes } = await get(endless(200, '{"send_id":"send_1"}'));
    expect(error).toMatchObject({
      name: "InvalidResponseError",
      code: "response_too_large",
      status: 200,
    });
    expect(textOf(error)).toBe(
      "The response is larger than 1048576 bytes. The request was processed. Raise `maxResponseBytes`.",
    );
    expect(notes).toHaveLength(1);
  });

  test("has one byte more than it may have", async () => {
    const text = JSON.stringify({ send_id: "send_1", subject: "Grüße" });
    const bytes = Buffer.byteLength(text);
    const { client } = await against((_request, response) => response.end(text));
    const read = (maxResponseBytes: number) => client.sends.get("send_1", { maxResponseBytes });
    expect(await read(bytes)).toEqual(JSON.parse(text));
    expect(await errorOf(read(bytes - 1))).toMatchObject({ code: "response_too_large" });
  });

  test("is measured after it is decompressed", async () => {
    const packed = gzipSync(`{"send_id":"send_1"}${" ".repeat(2_000_000)}`);
    const { error } = await get((response) =>
      response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(packed),
    );
    expect(error).toMatchObject({ code: "response_too_large" });
  });

  test("has the class of its status and its start in the message if it is an error", async () => {
    const { error, notes } = await get(endless(503, "Too busy"));
    expect(error).toMatchObject({ name: "ServerError", code: "http_503", attempts: 3 });
    expect(textOf(error)).toBe('The response is unexpected: "Too busy".');
    expect(notes.map(({ status }) => status)).toEqual([503, 503, 503]);
  });
});

describe("a response that is not what the interface describes", () => {
  test.for<[string, Respond, object, RegExp]>([
    ["half a body", cut({ "content-length": 500 }), { ...dropped, attempts: 3 }, /\S: \S/],
    ["half a chunked body", cut({}), { ...dropped, attempts: 3 }, /\S: \S/],
    [
      "half a body of unknown length",
      cutWithoutLength,
      { ...unexpected, status: 200, attempts: 3 },
      /"\{"send_id": "send_1", "sta"\.$/,
    ],
    [
      "an empty body",
      responding(200, ""),
      { ...unexpected, status: 200, attempts: 3 },
      /^The response has no text\.$/,
    ],
    [
      "null",
      responding(200, "null", json),
      { ...unexpected, attempts: 1 },
      /unexpected: "null"\.$/,
    ],
    ["a number", responding(200, "42", json), { ...unexpected, attempts: 1 }, /"42"\.$/],
    [
      "a page of HTML",
      responding(200, "<title>Log in</title>", html),
      { ...unexpected, status: 200, attempts: 1 },
      /^The response is unexpected: "Log in"\.$/,
    ],
    [
      "a proxy's error page",
      responding(502, page, html),
      { name: "ServerError", code: "http_502", status: 502, attempts: 3 },
      /^The response is unexpected: "502 Bad Gateway 502 Bad Gateway nginx"\.$/,
    ],
    [
      "an error in JSON of another form",
      responding(400, '{"errors": ["subject"]}', json),
      { name: "InvalidRequestError", code: "http_400", attempts: 1 },
      /unexpected: "\{"errors": \["subject"\]\}"\.$/,
    ],
    [
      "304",
      responding(304, ""),
      { name: "ApiError", code: "http_304" },
      /^The response has no text\.$/,
    ],
  ])("%s is an error", async ([, respond, facts, text]) => {
    const { error } = await get(respond);
    expect(error).toMatchObject(facts);
    expect(textOf(error)).toMatch(text);
  });

  test("JSON without its content type is a success", async () => {
    const { client } = await against((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain" }).end('{"send_id": "send_1"}'),
    );
    expect(await client.sends.get("send_1")).toEqual({ send_id: "send_1" });
  });
});

test.for<[number, string, object, (client: Client) => Promise<unknown>]>([
  [202, "send_id", { status: "accepted" }, ({ emails }) => emails.send(email)],
  [202, "send_id", [], ({ emails }) => emails.send(email)],
  [
    201,
    "secret",
    { webhook_endpoint: { webhook_endpoint_id: "we_1" } },
    ({ webhookEndpoints }) =>
      webhookEndpoints.create({ url: "http://127.0.0.1:9", event_types: ["a"] }),
  ],
  [200, "secret", {}, ({ webhookEndpoints }) => webhookEndpoints.rotateSecret("we_1")],
])("a response %i without `%s` is not a success", async ([status, member, body, call]) => {
  const { client } = await against((_request, response) =>
    response.writeHead(status, json).end(JSON.stringify(body)),
  );
  const error = await errorOf(call(client));
  expect(error).toMatchObject({ ...unexpected, status, attempts: 1 });
  expect(error.message).toMatch(new RegExp(`^The response has no \`${member}\`\\. `));
});

test("an operation whose success the interface does not show resolves with undefined for an empty body", async () => {
  const { client, notes } = await against((_request, response) => response.writeHead(204).end());
  const empty = [
    await client.domains.verify("dom_1"),
    await client.webhookEndpoints.archive("we_1"),
    await client.webhookEvents.redeliver("evt_1"),
  ];
  expect([empty, notes.length]).toEqual([[undefined, undefined, undefined], 3]);
  // The response of this operation would contain a secret.
  const rotating = errorOf(client.webhookEndpoints.rotateSecret("we_1"));
  expect(await rotating).toMatchObject({ ...unexpected, status: 204, attempts: 1 });
});

describe("an error whose body does not arrive counts", () => {
  const headers = { ...json, "retry-after": "3", "x-request-id": "call_1" };
  const incomplete =
    (status: number, end: (response: ServerResponse) => void): Respond =>
    (response) => {
      response.writeHead(status, { ...headers, "content-length": 500 });
      response.write('{"error": {"code": "over', () => end(response));
    };
  /** Ways to end a response, with the time that an attempt needs for its headers, even on a busy machine. */
  const endings: Readonly<Record<string, readonly [number, (response: ServerResponse) => void]>> = {
    "is cut": [10_000, (response) => response.destroy()],
    hangs: [1_500, () => {}],
  };

  test.for(Object.entries(endings))(
    "with its status and headers: it %s",
    async ([, [attemptTimeoutMs, end]]) => {
      const limits = { attemptTimeoutMs };
      const { error, pauses, notes } = await get(incomplete(503, end), limits);
      expect(error).toMatchObject({
        name: "ServerError",
        code: "http_503",
        status: 503,
        retryAfterMs: 3_000,
        requestId: "call_1",
        attempts: 3,
      });
      expect(pauses).toEqual([about(3_000), about(3_000, 500)]);
      const note = { status: 503, requestId: "call_1" };
      expect(notes).toMatchObject([note, note, note]);
    },
  );

  test.for(Object.entries(endings))(
    "for a POST without a key, if it %s",
    async ([, [attemptTimeoutMs, end]]) => {
      const { client, notes } = await against(
        (_request, response) => incomplete(notes.length === 0 ? 429 : 400, end)(response),
        { attemptTimeoutMs },
      );
      const error = await errorOf(client.domains.verify("dom_1"));
      expect(error).toMatchObject({ name: "InvalidRequestError", status: 400, attempts: 2 });
    },
  );
});

describe("an error body", () => {
  test.for<[string, string, object]>([
    ["nested", '{"error": {"code": "a", "param": "b"}}', { code: "a", param: "b" }],
    ["flat, with a text as its error", '{"error": "no"}', { code: "http_403" }],
    ["null", "null", { code: "http_403" }],
    ["an array", '[{"code": "a"}]', { code: "http_403" }],
    ["of other types", '{"error": {"code": 1, "message": {}, "param": []}}', { code: "http_403" }],
    ["empty", '{"error": {"code": "", "message": ""}}', { code: "http_403" }],
    ["a prototype", '{"__proto__": {"code": "a"}}', { code: "http_403" }],
    ["flat, next to a text as its error", '{"error": "no", "code": "a"}', { code: "a" }],
    ["deeply nested", "[".repeat(100_000), { code: "http_403" }],
  ])("that is %s becomes an error", async ([, body, facts]) => {
    const { error } = await get(responding(403, body, json));
    expect(error).toMatchObject({ name: "ApiError", status: 403, attempts: 1, ...facts });
    expect(error.message).toMatch(/^\S.* \(GET .*, 403, .*\)$/);
  });

  test.each([
    { error: { code: "a", message: "no", request_id: "call_body" } },
    { error: { code: "a", message: "no" }, request_id: "call_body" },
    { code: "a", message: "no", request_id: "call_body" },
    { code: "a", detail: "no", request_id: "call_body" },
  ])("has the request id unless a header has it: %o", async (shape) => {
    const body = JSON.stringify(shape);
    const { error: inBody } = await get(responding(403, body, json));
    expect(inBody.requestId).toBe("call_body");
    expect(inBody.message).toMatch(/, 403, a, request call_body\)$/);
    const { error } = await get(responding(403, body, { ...json, "x-request-id": "call_header" }));
    expect(error.requestId).toBe("call_header");
  });

  test("cannot write to a terminal or fill a log", async () => {
    const long = `\u001b[2J\r\n\u202eERROR\ud800: ${"x".repeat(100_000)}`;
    const facts = { message: long, code: long, param: long, request_id: long };
    const cases: readonly [number, string][] = [
      [400, JSON.stringify({ error: facts })],
      [400, long],
      [307, ""],
    ];
    for (const [status, body] of cases) {
      const location = `http://a.test/${"x".repeat(9_000)}`;
      const { error } = await get(responding(status, body, { location }));
      expect(error.status).toBe(status);
      const shown = [error.message, error.code, error.param ?? "", error.requestId ?? ""];
      expect(shown.filter((text) => /[\p{Cc}\p{Cf}\p{Cs}]/u.test(text))).toEqual([]);
      expect(shown.join("").length).toBeLessThan(5_000);
    }
  });
});

describe("a redirect is not followed", () => {
  test.for(["same", "other"])("to the %s origin", async (origin) => {
    const seen: (string | undefined)[] = [];
    const record: RequestListener = ({ url, headers }, response) => {
      seen.push(`${url} ${headers.authorization}`);
      response.end("{}");
    };
    const other = `http://127.0.0.1:${await listen(record)}`;
    const { client, notes, baseUrl } = await against((request, response) => {
      if (request.url === "/elsewhere") return record(request, response);
      const location = `${origin === "same" ? "" : other}/elsewhere`;
      return response.writeHead(307, { location }).end();
    });
    const error = await errorOf(client.domains.verify("dom_1"));
    expect(error).toMatchObject({
      name: "InvalidResponseError",
      code: "redirected",
      status: 307,
      attempts: 1,
    });
    expect(error.message).toContain(`redirects to ${origin === "same" ? "" : other}/elsewhere. `);
    expect([seen, notes.length, baseUrl === other]).toEqual([[], 1, false]);
  });
});

describe("the wait that a response asks for", () => {
  const date = new Date(1_700_000_000_000).toUTCString();
  const epoch = (seconds: number) => String(1_700_000_000 + seconds);

  test.for<[string, Readonly<Record<string, string>>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["part of a second", { "retry-after": "0.5" }, 500],
    ["zero", { "retry-after": "0" }, 0],
    ["a date", { "retry-after": new Date(1_700_000_009_000).toUTCString() }, 9_000],
    ["a date that has passed", { "retry-after": new Date(1_600_000_000_000).toUTCString() }, 0],
    ["a reset as a time", { "x-ratelimit-reset": epoch(11) }, 11_000],
    ["a reset in seconds", { "x-ratelimit-reset": "12" }, 12_000],
    ["both", { "retry-after": "3", "x-ratelimit-reset": "14" }, 3_000],
    ["a header that is repeated", { "retry-after": "5, 5" }, 5_000],
    ["a negative number", { "retry-after": "-1" }, undefined],
    ["a word", { "retry-after": "soon" }, undefined],
  ])("is read from %s", async ([, headers, expected]) => {
    let responses = 0;
    const { client, pauses } = await against((_request, response) => {
      responses += 1;
      const limited = responding(429, "", { date, "x-ratelimit-limit": "1", ...headers });
      (responses > 3 ? responding(200, '{"send_id": "send_1"}', json) : limited)(response);
    });
    const error = await errorOf(client.sends.get("send_1", { maxRetries: 0 }));
    expect([error.name, error.retryAfterMs]).toEqual(["RateLimitError", expected]);
    // A success ends the retries: near the deadline, the last attempt might have less than 1 ms of real time.
    await client.sends.get("send_1");
    // Pauses are never shorter than the service asks, and clients that were refused together do not return
    // together.
    expect(pauses).toEqual([about(expected ?? 250), about(expected ?? 500, 500)]);
  });

  test.each(["9".repeat(400), "1e12", "999999999999"])(
    "is at most that of a timer: %s",
    async (seconds) => {
      const { error } = await get(responding(429, "", { "retry-after": seconds }));
      expect(error.retryAfterMs).toBeLessThan(2 ** 31);
    },
  );

  test("is not read from the reset of a limit that was not the reason", async () => {
    const { error } = await get(responding(503, "", { "x-ratelimit-reset": "60" }));
    expect([error.status, error.retryAfterMs]).toEqual([503, undefined]);
  });

  test("is relative to the client's time if the response has no date", async () => {
    const retryAfter = new Date(1_800_000_004_000).toUTCString();
    const { pauses } = await get(responding(429, "", { date: "", "retry-after": retryAfter }));
    expect(pauses[0]).toEqual(about(4_000));
  });
});

describe("a mistake of this process is not retried as a lost connection", () => {
  test.for<unknown>([undefined, null, {}, "text"])(
    "a fetch that resolves to %o",
    async (result) => {
      let calls = 0;
      const fetch = async () => {
        calls += 1;
        return result as Response;
      };
      const error = await errorOf(
        createClient({ apiKey: "key_1", baseUrl: "http://127.0.0.1:9", fetch }).emails.send(email),
      );
      expect(error).toMatchObject({ name: "InvalidResponseError", code: "invalid_response" });
      expect([calls, error.attempts]).toEqual([1, 1]);
      expect(error.message).toContain("`fetch` must return a Response: ");
    },
  );

  const accepted = { send_id: "send_1", note: "Grüße 😀" };
  const bytes = new TextEncoder().encode(JSON.stringify(accepted));
  const text = JSON.stringify(accepted);
  const begun = { ok: true, status: 202, headers: new Headers(json) };
  const streamOf = (...chunks: readonly unknown[]) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });

  /** Sends an email with a `fetch`, and counts its calls. */
  async function sentWith(respond: () => unknown) {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      return (await respond()) as Response;
    };
    const client = createClient({ apiKey: "key_1", baseUrl: "http://127.0.0.1:9", fetch });
    const result: unknown = await client.emails.send(email).catch((error: unknown) => error);
    return { calls, result };
  }

  test.for<[string, () => unknown]>([
    ["no body, as that of whatwg-fetch", () => ({ ...begun, text: async () => text })],
    ["a body that is null", () => ({ ...begun, body: null, text: async () => text })],
    ["a body that is text", () => ({ ...begun, body: text })],
    [
      "a stream of text",
      () => new Response(streamOf(text.slice(0, 9), text.slice(9)), { status: 202, headers: json }),
    ],
    [
      "a stream of buffers",
      () => new Response(streamOf(bytes.buffer), { status: 202, headers: json }),
    ],
    [
      "bytes that split a character",
      () => new Response(streamOf(bytes.slice(0, 33), bytes.slice(33))),
    ],
    [
      "a clone that was read",
      async () => {
        const response = new Response(text, { status: 202, headers: json });
        await response.clone().text();
        return response;
      },
    ],
  ])("a response with %s is read", async ([, respond]) => {
    expect(await sentWith(respond)).toMatchObject({ calls: 1, result: accepted });
  });

  test.for<[string, () => unknown, RegExp]>([
    [
      "was read",
      async () => {
        const response = new Response(text, { status: 202, headers: json });
        await response.text();
        return response;
      },
      /`fetch` must return a Response: Body /,
    ],
    [
      "has a reader",
      () => {
        const response = new Response(text, { status: 202, headers: json });
        response.body?.getReader();
        return response;
      },
      /locked/,
    ],
    [
      "is read again by a wrapper",
      async () => {
        const response = new Response(text, { status: 202, headers: json });
        await response.text();
        await response.text();
      },
      /Body/,
    ],
    ["has only json()", () => ({ ...begun, json: async () => accepted }), /text is not a function/],
    ["is an object", () => ({ ...begun, body: {} }), /is not async iterable|is not iterable/],
    [
      "consists of objects",
      () => new Response(streamOf({ a: 1 }), { status: 202, headers: json }),
      /must be/,
    ],
    ["consists of null", () => ({ ...begun, body: [null] }), /Cannot read/],
  ])("a response whose body %s is not requested again", async ([, respond, message]) => {
    const { calls, result } = await sentWith(respond);
    expect(calls).toBe(1);
    expect(result).toMatchObject({ ...unexpected, attempts: 1, message });
  });

  test.each([
    new TypeError("x is not a function"),
    new TypeError("Cannot read properties of undefined (reading 'send')"),
    new TypeError("The first argument must be of type string. Received undefined"),
    new TypeError("undefined is not an object (evaluating 'a.b')"),
    new ReferenceError("x is not defined"),
    new SyntaxError("Unexpected token '<', \"<html>\" is not valid JSON"),
  ])("a fetch that throws a %s is not called again", async (thrown) => {
    const { calls, result } = await sentWith(() => Promise.reject(thrown));
    expect(calls).toBe(1);
    expect(result).toMatchObject({
      ...unexpected,
      message: expect.stringContaining(thrown.message),
    });
  });

  test.each([
    new TypeError("fetch failed", { cause: new Error("other side closed") }),
    new TypeError("terminated", { cause: new TypeError("x is not a function") }),
    new TypeError("Failed to fetch"),
    new TypeError("Network request failed"),
    new TypeError("error reading a body from connection"),
    new TypeError("dns error: failed to lookup address information: Name or service not known"),
    new TypeError("tcp connect error: Cannot assign requested address (os error 99)"),
    new TypeError("Transport endpoint is not connected (os error 107)"),
    new Error("The socket is not an open one."),
  ])("a connection that ends with %s is lost, so the request is repeated", async (thrown) => {
    const { calls, result } = await sentWith(() => Promise.reject(thrown));
    expect(calls).toBe(3);
    expect(result).toMatchObject(dropped);
  });

  test("a Blob without a function text, as in jsdom", async () => {
    vi.stubGlobal("Blob", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const body = JSON.stringify({ send_id: "send_1", note: "Grüße 😀" });
    const { client, notes } = await against((_request, response) =>
      responding(200, body, json)(response),
    );
    expect(await client.sends.get("send_1")).toEqual(JSON.parse(body));
    expect(notes).toHaveLength(1);
  });
});

test("a reason that ends with a full stop is not followed by another one", async () => {
  const fetch = () => Promise.reject(new Error("Request was cancelled."));
  const client = createClient({
    apiKey: "key_1",
    baseUrl: "http://127.0.0.1:9",
    fetch,
    maxRetries: 0,
  });
  const { message } = await errorOf(client.sends.get("send_1"));
  expect(message).toMatch(/: Request was cancelled\. \(GET /);
});

test.for<[string, (client: Client) => Promise<unknown>]>([
  ["emails.send", ({ emails }) => emails.send(email)],
  ["sends.get", ({ sends }) => sends.get("send_1")],
  ["sends.waitFor", ({ sends }) => sends.waitFor("send_1")],
])("%s refuses a send id that is a number", async ([, call]) => {
  const { client } = await against((_request, response) =>
    responding(200, '{"send_id": 5, "status": "delivered"}', json)(response),
  );
  expect(await errorOf(call(client))).toMatchObject({ code: "invalid_response", attempts: 1 });
});
