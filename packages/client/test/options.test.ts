import { afterEach, describe, expect, test, vi } from "vitest";
import {
  ClientConfigError,
  createClient,
  InvalidRequestError,
  isSvcError,
  type Client,
} from "../src/index.js";
import { against, apiKey, collected, email, errorOf, open } from "./support.js";

const baseUrl = "http://127.0.0.1:4010";

afterEach(() => void vi.unstubAllEnvs());

const noKey = "`apiKey` (or SVC_API_KEY) must be set and not empty.";
const badKey = "`apiKey` (or SVC_API_KEY) must be printable ASCII without white space.";
const noUrl =
  "`baseUrl` (or SVC_BASE_URL) must be the URL before /v1, such as http://127.0.0.1:4010.";

describe("createClient refuses", () => {
  test.for<[string, object, string]>([
    ["apiKey", { baseUrl }, noKey],
    ["apiKey", { baseUrl, apiKey: "" }, noKey],
    ["apiKey", { baseUrl, apiKey: 1 }, badKey],
    ["apiKey", { baseUrl, apiKey: `${apiKey}\n` }, badKey],
    ["apiKey", { baseUrl, apiKey: `"${apiKey}” ` }, badKey],
    ["baseUrl", { apiKey }, noUrl],
    ["baseUrl", { apiKey, baseUrl: "" }, noUrl],
    ...[
      "127.0.0.1:4010",
      "ftp://a.test",
      "http://",
      "http://user:password@a.test",
      "http://a.test?b=c",
      "http://a.test/#b",
      "http://a.test:b",
      `${baseUrl}/v1`,
      `${baseUrl}/v1/`,
      ` ${baseUrl}`,
    ].map((url): [string, object, string] => ["baseUrl", { apiKey, baseUrl: url }, noUrl]),
    ["fetch", { apiKey, baseUrl, fetch: 1 }, "`fetch` must be a function."],
    ["onRequest", { apiKey, baseUrl, onRequest: null }, "`onRequest` must be a function."],
    ["onResponse", { apiKey, baseUrl, onResponse: {} }, "`onResponse` must be a function."],
    ...[0, 2 ** 31, Infinity, "5"].map((deadlineMs): [string, object, string] => [
      "deadlineMs",
      { apiKey, baseUrl, deadlineMs },
      "`deadlineMs` must be a number from 1 to 2147483647.",
    ]),
    [
      "attemptTimeoutMs",
      { apiKey, baseUrl, attemptTimeoutMs: 2 ** 31 },
      "`attemptTimeoutMs` must be a number from 1 to 2147483647.",
    ],
    [
      "maxRetries",
      { apiKey, baseUrl, maxRetries: Number.NaN },
      "`maxRetries` must be a number from 0 to 100.",
    ],
    ...[0, 2 ** 31, "5"].map((maxResponseBytes): [string, object, string] => [
      "maxResponseBytes",
      { apiKey, baseUrl, maxResponseBytes },
      "`maxResponseBytes` must be a number from 1 to 2147483647.",
    ]),
    [
      "retries",
      { apiKey, baseUrl, retries: 3 },
      "`retries` is not an option. The options include apiKey, baseUrl, fetch, onRequest, onResponse, clock, deadlineMs, attemptTimeoutMs, maxRetries, maxResponseBytes.",
    ],
  ])("an invalid `%s`: %j", ([param, options, message]) => {
    const create = () => createClient(options);
    expect(create).toThrow(ClientConfigError);
    const facts = { code: "invalid_option", param, message, attempts: 0 };
    expect(create).toThrow(expect.objectContaining(facts) as Error);
  });
});

test("a limit of a request is checked like that of the client", async () => {
  const { client, notes } = await against(() => {});
  const error = await errorOf(client.sends.get("send_1", { maxRetries: -1 }));
  expect(error).toBeInstanceOf(ClientConfigError);
  expect(error).toMatchObject({ param: "maxRetries" });
  expect(notes).toEqual([]);
});

/** Calls of every operation with options that it does not have. */
const withOptions: Readonly<Record<string, (client: Client, options: object) => Promise<unknown>>> =
  {
    "emails.send": ({ emails }, options) => emails.send(email, options),
    "sends.get": ({ sends }, options) => sends.get("send_1", options),
    "sends.waitFor": ({ sends }, options) => sends.waitFor("send_1", options),
    "domains.create": ({ domains }, options) => domains.create({ domain_name: "a.test" }, options),
    "domains.verify": ({ domains }, options) => domains.verify("dom_1", options),
    "webhookEventTypes.list": (client, options) =>
      collected(client.webhookEventTypes.list(options)),
    "webhookEndpoints.create": ({ webhookEndpoints }, options) =>
      webhookEndpoints.create({ url: "http://127.0.0.1:9", event_types: ["a"] }, options),
    "webhookEndpoints.rotateSecret": ({ webhookEndpoints }, options) =>
      webhookEndpoints.rotateSecret("we_1", options),
    "webhookEndpoints.archive": ({ webhookEndpoints }, options) =>
      webhookEndpoints.archive("we_1", options),
    "webhookEvents.list": ({ webhookEvents }, options) =>
      collected(webhookEvents.list({}, options)),
    "webhookEvents.redeliver": ({ webhookEvents }, options) =>
      webhookEvents.redeliver("evt_1", options),
    "webhookEvents.redeliverFailed": ({ webhookEvents }, options) =>
      webhookEvents.redeliverFailed({ webhook_endpoint_id: "we_1", ...options }),
    request: ({ request }, options) => request("GET", "/v1/x", {}, options),
  };

describe.each(Object.entries(withOptions))("%s refuses", (name, call) => {
  test.for<[string, object]>([
    ["dry_run", { dry_run: true }],
    ["timeoutMs", { timeoutMs: 5 }],
    // A text stands in place of the options.
    ["0", "order-1042" as unknown as object],
    ...(name === "emails.send" || name === "request"
      ? []
      : [["idempotencyKey", { idempotencyKey: "order-1042" }] as [string, object]]),
  ])("the unknown option %s", async ([param, options]) => {
    const { client, notes } = await against((_request, response) => response.end("{}"));
    const error = await errorOf(call(client, options));
    expect(error).toBeInstanceOf(ClientConfigError);
    expect(error).toMatchObject({ code: "invalid_option", param });
    expect(error.message).toMatch(
      /^`\w+` is not an option\. The options include .*\bsignal, .*deadlineMs, /,
    );
    expect(notes).toEqual([]);
  });

  test.for<[string, unknown]>([
    ["an AbortController", new AbortController()],
    ["a number", 5_000],
    ["an object", { aborted: false }],
  ])("%s as its signal", async ([, signal]) => {
    const { client, notes } = await against((_request, response) => response.end("{}"));
    const error = await errorOf(call(client, { signal }));
    expect(error).toMatchObject({
      code: "invalid_option",
      param: "signal",
      message: "`signal` must be an AbortSignal.",
      attempts: 0,
    });
    // An unhandled rejection would fail this test.
    await new Promise((resolve) => setImmediate(resolve));
    expect(notes).toEqual([]);
  });
});

test.for<[string, object]>([
  ["maxRetries", { body: {}, maxRetries: 0, maxResponseBytes: 5_000_000 }],
  ["idempotencyKey", { idempotencyKey: "order-1042" }],
  ["mayRepeat", { mayRepeat: true }],
  // A text stands in place of the object.
  ["0", "order-1042" as unknown as object],
])("request refuses %s next to query and body", async ([param, call]) => {
  const { client, notes } = await against((_request, response) => response.end("{}"));
  const error = await errorOf(client.request("POST", "/v1/x", call));
  expect(error).toBeInstanceOf(ClientConfigError);
  expect(error).toMatchObject({
    code: "invalid_option",
    param,
    message: `\`${param}\` is neither \`query\` nor \`body\`. Pass options last.`,
    attempts: 0,
  });
  expect(notes).toEqual([]);
});

test.each([null, undefined])(
  "an idempotency key that is %s is one that is missing",
  async (key) => {
    const { client, sends } = await open();
    const options = { idempotencyKey: key as unknown as string };
    const { idempotencyKey } = await client.emails.send(email, options);
    expect(idempotencyKey).toMatch(/^[\w-]{36}$/);
    expect((await client.emails.send(email, options)).idempotencyKey).not.toBe(idempotencyKey);
    expect(await sends()).toBe(2);
  },
);

describe("the environment", () => {
  test("is read when a client is created, and options win", async () => {
    const keys: unknown[] = [];
    const { baseUrl: url } = await against(({ headers, url: path }, response) => {
      keys.push(`${headers.authorization} ${path}`);
      response.end("{}");
    });
    vi.stubEnv("SVC_API_KEY", "svc_first");
    vi.stubEnv("SVC_BASE_URL", `${url}/prefix///`);
    const first = createClient();
    vi.stubEnv("SVC_API_KEY", "svc_second");
    await first.sends.get("send_1");
    await createClient({ baseUrl: url }).sends.get("send_1");
    await createClient({ apiKey: "svc_third" }).sends.get("send_1");
    expect(keys).toEqual([
      "Bearer svc_first /prefix/v1/sends/send_1",
      "Bearer svc_second /v1/sends/send_1",
      "Bearer svc_third /prefix/v1/sends/send_1",
    ]);
  });

  test("may have an empty variable, be missing, or be denied", () => {
    vi.stubEnv("SVC_API_KEY", "");
    expect(() => createClient({ baseUrl })).toThrow(noKey);
    const denied = {
      get env(): never {
        throw new Error("denied");
      },
    };
    for (const process of [undefined, {}, denied]) {
      vi.stubGlobal("process", process);
      try {
        expect(() => createClient({ baseUrl })).toThrow(noKey);
      } finally {
        vi.unstubAllGlobals();
      }
    }
  });
});

test("a `fetch` that is replaced later is used", async () => {
  const client = createClient({ apiKey, baseUrl });
  vi.stubGlobal("fetch", async () => Response.json({ send_id: "send_1", status: "sent" }));
  try {
    expect(await client.sends.get("send_1")).toMatchObject({ status: "sent" });
  } finally {
    vi.unstubAllGlobals();
  }
});

describe("a documented limit is checked before a request is made", () => {
  const send = (changes: object) => (client: Client) =>
    client.emails.send({ ...email, ...changes });
  const endpoint = (changes: object) => (client: Client) =>
    client.webhookEndpoints.create({ url: "http://a.test", event_types: ["a"], ...changes });
  const text = "An email needs `text`, `html` or both.";
  const to = "`to` must be an array with at least one address.";
  const types = "`event_types` must be an array with at least one event type.";

  test.for<[string, (client: Client) => Promise<unknown>, string]>([
    ["from", (client) => client.emails.send(undefined as never), "`from` must be an address."],
    ["from", send({ from: "" }), "`from` must be an address."],
    ["to", send({ to: "grace@example.test" }), to],
    ["to", send({ to: [] }), to],
    ["to", send({ to: [undefined] }), to],
    ["subject", send({ subject: "" }), "`subject` must be a non-empty string."],
    ["subject", send({ subject: "x".repeat(301) }), "`subject` must have at most 300 characters."],
    ["text", send({ text: undefined }), text],
    ["text", send({ text: "", html: "" }), text],
    [
      "domain_name",
      (client) => client.domains.create(null as never),
      "`domain_name` must be a domain name.",
    ],
    ["url", endpoint({ url: undefined }), "`url` must be a URL."],
    ["event_types", endpoint({ event_types: [] }), types],
    ["event_types", endpoint({ event_types: "email.sent" }), types],
    ["send_id", (client) => client.sends.get(".."), "`send_id` must be an id."],
    ["send_id", (client) => client.sends.waitFor(""), "`send_id` must be an id."],
    [
      "event_id",
      (client) => client.webhookEvents.redeliver(undefined as never),
      "`event_id` must be an id.",
    ],
    // A lone half of a surrogate pair has no form in UTF-8.
    ...["\ud800", "send_\udfff"].map(
      (id): [string, (client: Client) => Promise<unknown>, string] => [
        "send_id",
        (client) => client.sends.get(id),
        `\`send_id\` must be an id.`,
      ],
    ),
    // An object or a number is often passed by mistake instead of one of its properties, and its value may
    // differ in each run.
    ...["", " ", "a\nb", "ü", " a", "a ", {}, 1042, ["a"]].map(
      (idempotencyKey): [string, (client: Client) => Promise<unknown>, string] => [
        "idempotencyKey",
        (client) => client.emails.send(email, { idempotencyKey: idempotencyKey as string }),
        "`idempotencyKey` must be printable ASCII text without leading or trailing spaces.",
      ],
    ),
    [
      "body",
      ({ request }) => request("GET", "/v1/webhook-events", { body: { limit: 1 } }),
      "GET requests cannot have a `body`. Use `query`.",
    ],
  ])("%s", async ([param, call, message]) => {
    const { client, notes } = await against(() => {});
    const error = await errorOf(call(client));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ code: "invalid_request", param, message, attempts: 0 });
    expect([error.status, notes, isSvcError(error)]).toEqual([undefined, [], true]);
  });

  test("characters are counted, not the units of UTF-16", async () => {
    const { client } = await open();
    const { subject } = await client.emails.send({ ...email, subject: "📨".repeat(300) });
    expect(subject).toHaveLength(600);
    const tooLong = client.emails.send({ ...email, subject: "📨\n".repeat(151) });
    expect(await errorOf(tooLong)).toMatchObject({ param: "subject", attempts: 0 });
  });
});
