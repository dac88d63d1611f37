import { linesOf } from "@svc-webhooks/kit/collected";
import { getEventListeners } from "node:events";
import { gate } from "@svc-webhooks/kit/gate";
import { node, root } from "@svc-webhooks/kit/programs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AbortedError, createClient, TimeoutError, type ClientOptions } from "../src/index.js";
import { about, against, apiKey, email, errorOf, open } from "./support.js";

const reason = new Error("The user left.");
const aborted = { name: "AbortError", code: "aborted", cause: reason };

/** Starts a server that accepts requests and never responds. Returns a promise of the first request too. */
async function silent(options: ClientOptions = {}) {
  const arrived = gate();
  const left = gate();
  const server = await against((_request, response) => {
    response.once("close", left.open);
    arrived.open();
  }, options);
  return { ...server, arrived: arrived.opened, left: left.opened };
}

describe("an aborted signal", () => {
  test("ends a request before its first attempt", async () => {
    const { client, notes } = await open();
    const error = await errorOf(client.emails.send(email, { signal: AbortSignal.abort(reason) }));
    expect(error).toBeInstanceOf(AbortedError);
    expect(error).toMatchObject({ ...aborted, attempts: 0 });
    expect(notes).toEqual([]);
  });

  test("ends an attempt that waits for its response, and its connection", async () => {
    const { client, arrived, left, notes } = await silent();
    const controller = new AbortController();
    const sending = errorOf(client.emails.send(email, { signal: controller.signal }));
    await arrived;
    controller.abort(reason);
    expect(await sending).toMatchObject({ ...aborted, attempts: 1 });
    await left;
    expect(notes).toMatchObject([{ code: "aborted", retryInMs: undefined }]);
  });

  test("ends an attempt in the middle of a body", async () => {
    const begun = gate();
    const { client } = await against((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"send_id"', () => begun.open());
    });
    const controller = new AbortController();
    const reading = errorOf(client.sends.get("send_1", { signal: controller.signal }));
    await begun.opened;
    controller.abort(reason);
    expect(await reading).toMatchObject({ ...aborted, attempts: 1 });
  });

  test("ends the pause before a retry, of real time too", async () => {
    // This client keeps the real clock: a pause would take a minute.
    const { baseUrl } = await against((_request, response) =>
      response.writeHead(429, { "retry-after": "59" }).end(),
    );
    const controller = new AbortController();
    const retries: unknown[] = [];
    const client = createClient({
      apiKey,
      baseUrl,
      onResponse: ({ retryInMs }) => {
        retries.push(retryInMs);
        setImmediate(() => controller.abort(reason));
      },
    });
    const error = await errorOf(client.emails.send(email, { signal: controller.signal }));
    expect(error).toMatchObject({ ...aborted, attempts: 1, idempotencyKey: expect.any(String) });
    expect(retries).toEqual([about(59_000)]);
  });

  test.for(["list", "waitFor", "redeliverFailed"] as const)("ends %s", async (operation) => {
    const { client, arrived } = await silent();
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const { sends, webhookEvents } = client;
    const work = {
      list: () => webhookEvents.list({}, options).pages()[Symbol.asyncIterator]().next(),
      waitFor: () => sends.waitFor("send_1", options),
      redeliverFailed: () =>
        webhookEvents.redeliverFailed({ webhook_endpoint_id: "we_1", ...options }),
    };
    const ending = errorOf(work[operation]());
    await arrived;
    controller.abort(reason);
    expect(await ending).toMatchObject(aborted);
  });

  test("has one listener, however many requests share it", async () => {
    const { client, fault } = await open();
    const { signal } = new AbortController();
    await fault("status");
    await Promise.all([1, 2, 3].map(() => client.emails.send(email, { signal })));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  });

  test.for<[string, (controller: AbortController) => ClientOptions, number]>([
    ["before an attempt", (controller) => ({ onRequest: () => controller.abort(reason) }), 1],
    ["before a pause", (controller) => ({ onResponse: () => controller.abort(reason) }), 1],
  ])("ends a request if a hook aborts it %s", async ([, hooks, attempts]) => {
    const { baseUrl } = await against((_request, response) =>
      response.writeHead(503, { "retry-after": "59" }).end(),
    );
    const controller = new AbortController();
    const client = createClient({ apiKey, baseUrl, ...hooks(controller) });
    const error = await errorOf(client.sends.get("send_1", { signal: controller.signal }));
    expect(error).toMatchObject({ ...aborted, attempts });
  });
});

/** Runs a module that imports the built client, with one signal for all its requests. */
async function runShared(flags: readonly string[], baseUrl: string, lines: readonly string[]) {
  const code = [
    'import { createClient } from "@svc-webhooks/client";',
    `const options = { apiKey: "svc_test", baseUrl: ${JSON.stringify(baseUrl)} };`,
    "const { signal } = new AbortController();",
    ...lines,
  ];
  return node([...flags, "--input-type=module", "--eval", code.join("\n")], { cwd: root });
}

test("50 parallel requests with one signal print no warning", async () => {
  const waiting: (() => void)[] = [];
  let requests = 0;
  const { baseUrl } = await against((_request, response) => {
    requests += 1;
    // The first attempts of all requests run at the same time, and so do their pauses.
    waiting.push(() => response.writeHead(requests > 50 ? 200 : 503).end("{}"));
    if (waiting.length === 50) for (const respond of waiting.splice(0)) respond();
    else if (requests > 50) waiting.pop()?.();
  });
  const { exitCode, stderr } = await runShared([], baseUrl, [
    "const client = createClient(options);",
    'await Promise.all(Array.from({ length: 50 }, () => client.sends.get("send_1", { signal })));',
  ]);
  expect({ exitCode, stderr, requests }).toEqual({ exitCode: 0, stderr: "", requests: 100 });
});

test("a signal that lives long keeps nothing of 20,000 requests", async () => {
  // The requests themselves are not under test, and a `fetch` without a network makes them fast.
  const { exitCode, stdout, stderr } = await runShared(["--expose-gc"], "http://a.test", [
    'const fetch = async () => Response.json({ send_id: "send_1" });',
    "const client = createClient({ ...options, fetch });",
    "const make = async (count) => {",
    '  for (let made = 0; made < count; made += 1) await client.sends.get("send_1", { signal });',
    "  await new Promise((resolve) => setImmediate(resolve));",
    "  gc();",
    "  return process.memoryUsage().heapUsed;",
    "};",
    "let before = await make(2_000);",
    "for (let round = 0; round < 4; round += 1) {",
    "  const after = await make(5_000);",
    "  console.log(after - before);",
    "  before = after;",
    "}",
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const growths = linesOf(stdout).map(Number);
  expect(growths).toHaveLength(4);
  // A listener needs more than a hundred bytes. What V8 allocates for itself does not come with each round.
  expect(Math.min(...growths)).toBeLessThan(5_000 * 50);
});

describe("a time limit", () => {
  test.for<[string, ClientOptions, ClientOptions, object]>([
    ["an attempt", { attemptTimeoutMs: 50 }, {}, { code: "attempt_timeout", attempts: 3 }],
    ["a request", { deadlineMs: 50 }, {}, { code: "deadline_exceeded" }],
    [
      "one request's attempts",
      { attemptTimeoutMs: 60_000 },
      { attemptTimeoutMs: 50, maxRetries: 1 },
      { code: "attempt_timeout", attempts: 2 },
    ],
    ["one request", {}, { deadlineMs: 50, maxRetries: 0 }, { code: "deadline_exceeded" }],
  ])("ends %s", async ([, options, overrides, facts]) => {
    const { client } = await silent(options);
    const error = await errorOf(client.sends.get("send_1", overrides));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject(facts);
    expect(error.message).toContain(
      "No successful response arrived within 0.05 s. (GET /v1/sends/",
    );
  });

  test("ends an attempt whose `fetch` ignores its signal", async () => {
    const never = () => new Promise<Response>(() => {});
    const { client } = await against(() => {}, { fetch: never, attemptTimeoutMs: 20 });
    expect(await errorOf(client.sends.get("send_1"))).toMatchObject({ code: "attempt_timeout" });
  });

  test("ends a request whose time is over before its next attempt", async () => {
    let now = 0;
    // The clock jumps as if the process was suspended during its pause.
    const clock = { now: () => now, sleep: async () => void (now += 3_600_000) };
    const { client, notes } = await against((_request, response) => response.writeHead(503).end(), {
      clock,
    });
    const error = await errorOf(client.sends.get("send_1"));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: "deadline_exceeded", attempts: 1 });
    expect(error.message).toBe(
      "No successful response arrived within 60 s. (GET /v1/sends/send_1, deadline_exceeded)",
    );
    expect(error.cause).toMatchObject({ name: "ServerError", status: 503 });
    expect(notes).toHaveLength(1);
  });

  test("does not follow the wall clock", async () => {
    const { baseUrl } = await against((_request, response) =>
      response.writeHead(503, { "retry-after": "0" }).end(),
    );
    const now = vi.spyOn(Date, "now");
    onTestFinished(() => now.mockRestore());
    const onResponse = () => void now.mockReturnValue(performance.timeOrigin + 86_400_000 * 365);
    const client = createClient({ apiKey, baseUrl, onResponse });
    const error = await errorOf(client.sends.get("send_1"));
    expect(error).toMatchObject({ name: "ServerError", attempts: 3 });
  });

  test("leaves the last attempt what is left, and the failure before is the cause", async () => {
    let requests = 0;
    const { client } = await against((_request, response) => {
      requests += 1;
      // The pause of the client's clock uses all of the deadline except 50 to 300 ms.
      if (requests === 1) response.writeHead(503, { "retry-after": "4.7" }).end();
    });
    const error = await errorOf(client.sends.get("send_1", { deadlineMs: 5_000, maxRetries: 1 }));
    expect(error).toMatchObject({ code: "deadline_exceeded", attempts: 2 });
    expect(error.message).toMatch(/^No successful response arrived within 5 s\./);
    expect(error.cause).toMatchObject({ name: "ServerError", status: 503, attempts: 1 });
  });
});
