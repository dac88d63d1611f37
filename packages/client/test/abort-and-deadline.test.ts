import { getEventListeners } from "node:events";
import { gate } from "@svc-webhooks/kit/gate";
import { describe, expect, test } from "vitest";
import { AbortedError, createClient, TimeoutError, type ClientOptions } from "../src/index.js";
import { against, apiKey, email, errorOf, open } from "./support.js";

const reason = new Error("The user left.");
const aborted = { name: "AbortError", code: "aborted", cause: reason };

/** A server that accepts requests and never responds, and a promise of the first request. */
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
    // Without a clock of its own: its pause would take a minute.
    const { baseUrl } = await against((_request, response) =>
      response.writeHead(429, { "retry-after": "59" }).end(),
    );
    const controller = new AbortController();
    const client = createClient({
      apiKey,
      baseUrl,
      onResponse: ({ retryInMs }) => {
        expect(retryInMs).toBe(59_000);
        setImmediate(() => controller.abort(reason));
      },
    });
    const error = await errorOf(client.emails.send(email, { signal: controller.signal }));
    expect(error).toMatchObject({ ...aborted, attempts: 1, idempotencyKey: expect.any(String) });
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

  test("leaves no listener on a signal that is used again", async () => {
    const { client, fault } = await open();
    const { signal } = new AbortController();
    await fault("status");
    await client.emails.send(email, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
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
    expect(error.message).toContain("There was no whole response within 0.05 s. (GET /v1/sends/");
  });

  test("ends an attempt whose `fetch` ignores its signal", async () => {
    const never = () => new Promise<Response>(() => {});
    const { client } = await against(() => {}, { fetch: never, attemptTimeoutMs: 20 });
    expect(await errorOf(client.sends.get("send_1"))).toMatchObject({ code: "attempt_timeout" });
  });

  test("leaves the last attempt what is left, and the failure before is the cause", async () => {
    let requests = 0;
    const { client } = await against((_request, response) => {
      requests += 1;
      // The pause of the client's clock takes all of the deadline but 100 ms.
      if (requests === 1) response.writeHead(503, { "retry-after": "4.9" }).end();
    });
    const error = await errorOf(client.sends.get("send_1", { deadlineMs: 5_000, maxRetries: 1 }));
    expect(error).toMatchObject({ code: "deadline_exceeded", attempts: 2 });
    expect(error.message).toMatch(/^There was no whole response within 0\.\d+ s\./);
    expect(error.cause).toMatchObject({ name: "ServerError", status: 503, attempts: 1 });
  });
});
