import { afterEach, describe, expect, test, vi } from "vitest";
import {
  ClientConfigError,
  createClient,
  InvalidRequestError,
  isSvcError,
  type Client,
} from "../src/index.js";
import { against, apiKey, email, errorOf, open } from "./support.js";

const baseUrl = "http://127.0.0.1:4010";

afterEach(() => void vi.unstubAllEnvs());

const noKey = "There is no API key. Pass `apiKey`, or set the environment variable SVC_API_KEY.";
const badKey =
  "The API key contains white space or characters that a header cannot have. Copy it again, and check the line that sets it.";
const noUrl = "There is no base URL. Pass `baseUrl`, or set the environment variable SVC_BASE_URL.";
const badUrl =
  "The base URL must be the URL before /v1, such as http://127.0.0.1:4010, without a user, query or fragment.";

describe("createClient refuses", () => {
  test.for<[string, object, string]>([
    ["apiKey", { baseUrl }, noKey],
    ["apiKey", { baseUrl, apiKey: "" }, noKey],
    ["apiKey", { baseUrl, apiKey: 1 }, noKey],
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
    ].map((url): [string, object, string] => ["baseUrl", { apiKey, baseUrl: url }, badUrl]),
    ["fetch", { apiKey, baseUrl, fetch: 1 }, "`fetch` must be a function."],
    ["onRequest", { apiKey, baseUrl, onRequest: null }, "`onRequest` must be a function."],
    ["onResponse", { apiKey, baseUrl, onResponse: {} }, "`onResponse` must be a function."],
    [
      "deadlineMs",
      { apiKey, baseUrl, deadlineMs: 0 },
      "`deadlineMs` must be a number from 1 to Infinity.",
    ],
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
    [
      "retries",
      { apiKey, baseUrl, retries: 3 },
      "There is no option `retries`. The options are apiKey, baseUrl, fetch, deadlineMs, attemptTimeoutMs, maxRetries, onRequest, onResponse, clock.",
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
  const text = "An email needs `html`, `text` or both.";
  const to = "`to` must be an array of at least one address.";
  const types = "`event_types` must be an array of at least one event type.";

  test.for<[string, (client: Client) => Promise<unknown>, string]>([
    ["from", (client) => client.emails.send(undefined as never), "`from` must be an address."],
    ["from", send({ from: "" }), "`from` must be an address."],
    ["to", send({ to: "grace@example.test" }), to],
    ["to", send({ to: [] }), to],
    ["to", send({ to: [undefined] }), to],
    ["subject", send({ subject: "" }), "`subject` must be a text."],
    ["subject", send({ subject: "x".repeat(301) }), "`subject` must have at most 300 characters."],
    ["text", send({ text: undefined }), text],
    ["text", send({ text: "", html: "" }), text],
    [
      "domain_name",
      (client) => client.domains.create(null as never),
      "`domain_name` must be a name such as mail.example.com.",
    ],
    ["url", endpoint({ url: undefined }), "`url` must be a URL."],
    ["event_types", endpoint({ event_types: [] }), types],
    ["event_types", endpoint({ event_types: "email.sent" }), types],
    ["send_id", (client) => client.sends.get(".."), '`send_id` must be an id, not "..".'],
    ["send_id", (client) => client.sends.waitFor(""), '`send_id` must be an id, not "".'],
    [
      "event_id",
      (client) => client.webhookEvents.redeliver(undefined as never),
      "`event_id` must be an id, not undefined.",
    ],
    ...["", " ", "a\nb", "ü"].map(
      (idempotencyKey): [string, (client: Client) => Promise<unknown>, string] => [
        "idempotencyKey",
        (client) => client.emails.send(email, { idempotencyKey }),
        "`idempotencyKey` must be printable ASCII text, not empty.",
      ],
    ),
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
