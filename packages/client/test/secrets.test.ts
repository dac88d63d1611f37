import { inspect } from "node:util";
import { createReceiver } from "@svc-webhooks/core";
import { describe, expect, test } from "vitest";
import {
  createClient,
  type ClientOptions,
  type RequestNote,
  type ResponseNote,
} from "../src/index.js";
import { maskedSecret } from "../src/secret.js";
import { about, against, apiKey, email, errorOf, open } from "./support.js";

const signingSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/** Returns everything that a log may show of a value, including its causes and stacks. */
function shown(value: unknown, depth = 0): string {
  const options = { depth: Infinity, showHidden: true, getters: true };
  const { cause, headers, message, stack } = Object(value) as Error & { headers?: Headers };
  return [
    inspect(value, options),
    JSON.stringify(value),
    String(value),
    message,
    stack,
    ...(headers ? [JSON.stringify(Array.from(headers))] : []),
    ...(cause && depth < 9 ? [shown(cause, depth + 1)] : []),
  ].join("\n");
}

function expectNoSecret(text: string) {
  expect(text).not.toBe("");
  for (const secret of [apiKey, apiKey.slice(0, 16), signingSecret, signingSecret.slice(6, 20)])
    expect(text).not.toContain(secret);
}

/** Signing secrets may have any printable ASCII characters. */
const punctuated = [".", ",", "'", '"', "`", ";", "{", apiKey].map(
  (mark) => `whsec_a${mark}${signingSecret.slice(6)}`,
);
const secrets = `${apiKey} Bearer ${apiKey}; ${signingSecret} ${punctuated.join(" ")}`;
const escaped = Array.from(
  secrets,
  (character) => `\\u00${Buffer.from(character).toString("hex")}`,
);
const json = { "content-type": "application/json" };
const echo = { "x-request-id": apiKey, "www-authenticate": secrets, "x-secret": signingSecret };

/** Responses of a server that repeats the API key wherever it can. */
const hostile: readonly [string, number, Readonly<Record<string, string>>, string][] = [
  [
    "an error in JSON",
    403,
    json,
    JSON.stringify({
      error: { code: apiKey, message: secrets, param: apiKey, request_id: apiKey },
    }),
  ],
  ["escapes in JSON", 400, json, `{"message": "${escaped.join("")}", "code": "a"}`],
  ["an error page", 400, {}, `<h1>${secrets}</h1>`],
  ["text around the end of an excerpt", 200, {}, `${"x".repeat(90)}${secrets}`],
  ["text after many spaces", 200, {}, `${" ".repeat(9_976)}${secrets}`],
  ["half a body", 200, json, `{"secret": "${signingSecret}", "key": "${apiKey}`],
  ["a redirect", 307, { location: `https://other.example/?key=${apiKey}` }, ""],
  ["headers", 400, {}, ""],
];

describe("an error, its causes and the notes of its request contain no secret", () => {
  test.for(hostile)("of a server with %s", async ([, status, headers, text]) => {
    const requests: RequestNote[] = [];
    const { client, notes } = await against(
      (_request, response) => response.writeHead(status, { ...echo, ...headers }).end(text),
      { onRequest: (note) => void requests.push(note), maxRetries: 0 },
    );
    const error = await errorOf(client.webhookEndpoints.rotateSecret("we_1"));
    expect(error.status).toBe(status);
    expectNoSecret(shown([error, notes]) + shown(error));
    expectNoSecret(requests.map(({ headers: sent }) => shown({ headers: sent })).join(""));
  });

  test("of a client whose `fetch` throws the whole request", async () => {
    const throwing: ClientOptions["fetch"] = (url, init) => {
      const request = { url, ...init, headers: Object.fromEntries(new Headers(init.headers)) };
      const text = JSON.stringify(request);
      const inner = Object.assign(new TypeError(text), { config: request, code: apiKey });
      const error = Object.assign(new AggregateError([inner], text, { cause: inner }), { request });
      error.name = `Error of ${apiKey}`;
      inner.cause = error;
      throw error;
    };
    const client = createClient({
      apiKey,
      baseUrl: "http://a.test",
      fetch: throwing,
      maxRetries: 0,
    });
    const error = await errorOf(client.sends.get("send_1"));
    expectNoSecret(shown(error));
    expect(error.cause).toBeInstanceOf(Error);
    const rejecting = { apiKey, baseUrl: "http://a.test", maxRetries: 0 };
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    const texts = createClient({ ...rejecting, fetch: () => Promise.reject(secrets) });
    expectNoSecret(shown(await errorOf(texts.sends.get("send_1"))));
  });
});

test("a success shows neither the key that its headers repeat nor the secret of its body", async () => {
  const { client, notes } = await against((_request, response) =>
    response.writeHead(200, { ...echo, ...json }).end(JSON.stringify({ secret: signingSecret })),
  );
  const success = await client.webhookEndpoints.rotateSecret("we_1").withResponse();
  expectNoSecret(shown([success, notes]) + shown(success.response));
  expect(success.result.secret.reveal()).toBe(signingSecret);
  expect(success.response.text()).toContain(signingSecret);
});

const masked = "[object Secret]";

test("every secret of a body is masked, wherever it is", async () => {
  const previous = "whsec_PREVIOUS0123456789PREVIOUS0123456789";
  const endpoint = {
    webhook_endpoint_id: "we_1",
    previous_secret: previous,
    list: [{ secret: 5 }],
  };
  const { client } = await against((_request, response) =>
    response
      .writeHead(200, json)
      .end(JSON.stringify({ secret: signingSecret, webhook_endpoint: endpoint })),
  );
  const result = await client.webhookEndpoints.rotateSecret("we_1");
  expectNoSecret(shown(result));
  expect(shown(result)).not.toContain(previous.slice(6, 20));
  expect(result.webhook_endpoint).toMatchObject({
    webhook_endpoint_id: "we_1",
    list: [{ secret: 5 }],
  });
});

test("a receiver refuses a secret that was printed", () => {
  const secret = maskedSecret(signingSecret);
  expect(createReceiver({ secret: secret.reveal(), on: { "*": () => {} } })).toBeDefined();
  for (const printed of [String(secret), inspect(secret), JSON.parse(JSON.stringify(secret))]) {
    const create = () => createReceiver({ secret: printed as string, on: { "*": () => {} } });
    expect(create).toThrow(expect.objectContaining({ code: "invalid_secret" }) as Error);
  }
});

test("a signing secret prints masked until it is revealed", async () => {
  const { client, endpoint } = await open();
  const result = await client.webhookEndpoints.rotateSecret(await endpoint(() => 200));
  const { secret } = result;
  const printed = [String(secret), JSON.stringify(result), inspect(result), shown(result)].join("");
  expect(secret.reveal()).toMatch(/^whsec_\w{20}/);
  expect(printed).not.toContain(secret.reveal().slice("whsec_".length));
  expect([String(secret), inspect(secret), JSON.stringify(secret)]).toEqual([
    masked,
    masked,
    `"${masked}"`,
  ]);
  expect(inspect(result)).toContain(`secret: ${masked}`);
});

describe("a hook", () => {
  test("sees each attempt with its outcome, and adds headers", async () => {
    const requests: RequestNote[] = [];
    const { client, fault, notes, calls } = await open(
      {},
      {
        onRequest(note) {
          note.headers.set("idempotency-key", "mine");
          note.headers.set("authorization", "Bearer other");
          requests.push(note);
        },
      },
    );
    await fault("status", { status: 503, retry_after: 2 });
    await client.emails.send(email, { idempotencyKey: "key" });
    const request = { method: "POST", path: "/v1/emails", idempotencyKey: "key" };
    const made = { ms: expect.any(Number), requestId: expect.stringMatching(/^call_/) };
    const failed = { status: 503, code: "service_unavailable", retryInMs: about(2_000) };
    expect(requests).toMatchObject([1, 2].map((attempt) => ({ ...request, attempt })));
    expect(notes).toEqual<ResponseNote[]>([
      { ...request, ...made, ...failed, attempt: 1 },
      { ...request, ...made, status: 202, code: undefined, retryInMs: undefined, attempt: 2 },
    ]);
    expect((await calls()).map(({ idempotency_key: key }) => key)).toEqual(["key", "key"]);
  });

  test.for<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("no"))],
  ])("that %s changes nothing", async ([, hook]) => {
    const { client, sends } = await open({}, { onRequest: hook, onResponse: hook });
    await client.emails.send(email);
    // An unhandled rejection would fail this test.
    await new Promise((resolve) => setImmediate(resolve));
    expect(await sends()).toBe(1);
  });
});
