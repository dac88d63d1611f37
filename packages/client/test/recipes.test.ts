import { gate } from "@svc-webhooks/kit/gate";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import {
  AuthenticationError,
  ClientConfigError,
  ServerError,
  SvcError,
  TimeoutError,
  type BulkRedeliveryProgress,
  type ClientClock,
  type WaitOptions,
} from "../src/index.js";
import { against, apiKey, collected, email, errorOf, open } from "./support.js";

const json = { "content-type": "application/json" };

/** Starts a service whose send has these statuses, one after the other; the last one stays. */
const sending = (statuses: readonly string[], history?: readonly string[], clock?: ClientClock) => {
  const left = [...statuses];
  return against(
    (_request, response) => {
      const status = left.length > 1 ? left.shift() : left[0];
      const send = { send_id: "send_1", status, history: history?.map((one) => ({ status: one })) };
      response.writeHead(200, json).end(JSON.stringify(send));
    },
    { ...(clock && { clock }) },
  );
};

describe("waitFor", () => {
  test.for<[string, WaitOptions | undefined, readonly string[], number]>([
    ["the last status", undefined, ["accepted", "sent", "delayed", "bounced"], 4],
    ["a failure", undefined, ["failed"], 1],
    ["one status", { until: "sent" }, ["accepted", "sent", "delivered"], 2],
    ["one of several", { until: ["opened", "sent"] }, ["accepted", "opened"], 2],
    [
      "what a function accepts",
      { until: ({ status }) => status.startsWith("d") },
      ["accepted", "delayed"],
      2,
    ],
    [
      "what an asynchronous function accepts",
      { until: async ({ status }) => status === "sent" },
      ["accepted", "sent", "delivered"],
      2,
    ],
    [
      "what a function accepts after a final status",
      { until: ({ status }) => status === "opened" },
      ["delivered", "opened"],
      2,
    ],
  ])("resolves with %s", async ([, options, statuses, requests]) => {
    const { client, notes } = await sending(statuses);
    expect((await client.sends.waitFor("send_1", options)).status).toBe(statuses[requests - 1]);
    expect(notes).toHaveLength(requests);
  });

  test("follows an email of the sandbox", async () => {
    const { client } = await open();
    const { send_id: id } = await client.emails.send({ ...email, to: ["bounced@mail.test"] });
    const { status, history } = await client.sends.waitFor(id);
    expect([status, history?.map((entry) => entry.status)]).toEqual([
      "bounced",
      ["accepted", "sent", "bounced"],
    ]);
  });

  test("resolves if the status has passed between two requests", async () => {
    const { client, notes } = await sending(["delivered"], ["accepted", "sent", "delivered"]);
    const { status } = await client.sends.waitFor("send_1", { until: "sent" });
    expect([status, notes.length]).toEqual(["delivered", 1]);
  });

  test.for<[WaitOptions["until"], readonly string[]]>([
    ["delivered", ["accepted", "bounced"]],
    [["opened", "sent"], ["failed"]],
  ])("until %j rejects at another final status: %j", async ([awaited, statuses]) => {
    const { client, notes } = await sending(statuses, statuses);
    const error = await errorOf(client.sends.waitFor("send_1", { until: awaited }));
    expect(error).toBeInstanceOf(SvcError);
    expect(error).toMatchObject({ name: "SvcError", code: "not_reached" });
    expect(error.message).toBe(`The status is ${statuses.at(-1)}: \`until\` was not reached.`);
    expect(notes).toHaveLength(statuses.length);
  });

  test("makes a last request when the time is over", async () => {
    // The pauses are 250 ms, 375 ms and the remaining 375 ms.
    const { client, pauses } = await sending(["accepted", "sent", "sent", "delivered"]);
    const { status } = await client.sends.waitFor("send_1", { deadlineMs: 1_000 });
    expect([status, pauses]).toEqual(["delivered", [250, 375, 375]]);
  });

  test("makes its last request also if a timer is early by a part of a millisecond", async () => {
    let now = 0.5;
    const sleep = async (ms: number) => void (now += Math.floor(ms));
    const { client, notes } = await sending(["accepted"], [], { now: () => now, sleep });
    const error = await errorOf(client.sends.waitFor("send_1", { deadlineMs: 1_000.4 }));
    expect([error.code, notes.length]).toEqual(["deadline_exceeded", 4]);
  });

  test.for<[string, unknown]>([
    ["control characters", "\u001b[2J\r\nERROR"],
    ["further control characters", "\u009b31m"],
    ["a long text", "x".repeat(100_000)],
    ["the API key", apiKey],
    ["a number", 5],
    ["an object", { toString: 1, valueOf: 1 }],
  ])("does not repeat a status that is %s", async ([, status]) => {
    const { client } = await against((_request, response) =>
      response.writeHead(200, json).end(JSON.stringify({ send_id: "send_1", status })),
    );
    const error = await errorOf(client.sends.waitFor("send_1", { deadlineMs: 5_000 }));
    expect(error.message).toBe("The status is unknown: `until` was not reached.");
  });

  test.for(["x", 5, {}, [null], [5]])("waits whatever the history is: %j", async (history) => {
    const statuses = ["sent", "delivered"];
    const { client } = await against((_request, response) => {
      const send = { send_id: "send_1", status: statuses.shift(), history };
      response.writeHead(200, json).end(JSON.stringify(send));
    });
    expect((await client.sends.waitFor("send_1")).status).toBe("delivered");
  });

  test.for([0, 2 ** 31, Number.NaN, "5"])("refuses a deadline of %s", async (deadlineMs) => {
    const { client, notes } = await sending(["accepted"]);
    const options = { deadlineMs: deadlineMs as number };
    const error = await errorOf(client.sends.waitFor("send_1", options));
    expect([error.code, error.param, notes]).toEqual(["invalid_option", "deadlineMs", []]);
  });

  test("pauses longer each time, up to 5 s, until its deadline", async () => {
    const { client, pauses } = await sending(["delayed"]);
    const error = await errorOf(client.sends.waitFor("send_1", { deadlineMs: 30_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    expect(error.message).toBe("The status is delayed: `until` was not reached.");
    expect(pauses.slice(0, 3)).toEqual([250, 375, 562.5]);
    expect([Math.max(...pauses), pauses.length]).toEqual([5_000, 12]);
    expect(pauses.reduce((sum, pause) => sum + pause)).toBe(30_000);
  });

  test("rejects with the error of a request", async () => {
    const { client } = await open();
    const error = await errorOf(client.sends.waitFor("send_1"));
    expect(error).toMatchObject({ status: 404, code: "not_found" });
  });
});

/** Opens a sandbox with failed deliveries to an endpoint that works again. */
async function failed(count: number) {
  let status = 500;
  const opened = await open({ assumptions: { "A-09": "none" } });
  const id = await opened.endpoint(() => status);
  const { domain_id: domain } = await opened.control.domains.create({ domain_name: "a.test" });
  for (let raised = 0; raised < count; raised += 1) await opened.control.domains.verify(domain);
  await opened.sandbox.clock.advance(0);
  status = 200;
  const statuses = async () => {
    await opened.sandbox.clock.advance(0);
    const events = await collected(opened.control.webhookEvents.list({ limit: 100 }));
    return events.map((event) => event.status);
  };
  return { ...opened, id, statuses };
}

const redeliverRoute = "POST /v1/webhook-events/{event_id}:redeliver";

describe("redeliverFailed", () => {
  test("changes nothing in a dry run", async () => {
    const { client, id, statuses, notes } = await failed(3);
    const options = { webhook_endpoint_id: id, dryRun: true };
    const counts = await client.webhookEvents.redeliverFailed(options);
    expect(counts).toEqual({ redelivered: 3, skipped: 0, failed: 0 });
    expect([notes.length, await statuses()]).toEqual([1, Array(3).fill("failed")]);
  });

  test.for([
    [0, 0],
    [2, 2],
    [9, 3],
  ])("redelivers at most %i", async ([max = 0, expected = 0]) => {
    const { client, id, statuses } = await failed(3);
    const counts = await client.webhookEvents.redeliverFailed({ webhook_endpoint_id: id, max });
    expect(counts.redelivered).toBe(expected);
    expect((await statuses()).filter((status) => status === "succeeded")).toHaveLength(expected);
  });

  test.for([-1, Number.NaN, "all"])("refuses `max: %s`", async (max) => {
    const { client, notes } = await against(() => {});
    const options = { webhook_endpoint_id: "we_1", max: max as number };
    const error = await errorOf(client.webhookEvents.redeliverFailed(options));
    expect(error).toBeInstanceOf(ClientConfigError);
    expect(error).toMatchObject({
      param: "max",
      message: "`max` must be 0 or greater.",
    });
    expect(notes).toEqual([]);
  });

  test("names its own options where one is misspelt", async () => {
    const { client } = await against(() => {});
    const options = { webhook_endpoint_id: "we_1", dry_run: true };
    expect((await errorOf(client.webhookEvents.redeliverFailed(options))).message).toBe(
      "`dry_run` is not an option. The options include webhook_endpoint_id, dryRun, max, onProgress, signal, deadlineMs, attemptTimeoutMs, maxRetries, maxResponseBytes.",
    );
  });

  test("counts what is skipped and what fails, and reports each", async () => {
    const { client, id, fault, statuses } = await failed(6);
    await fault("status", { target: redeliverRoute, status: 409 });
    await fault("status", { target: redeliverRoute, status: 500 });
    await fault("reset", { target: redeliverRoute });
    const seen: BulkRedeliveryProgress[] = [];
    const counts = await client.webhookEvents.redeliverFailed({
      webhook_endpoint_id: id,
      onProgress: (progress) => void seen.push(progress),
    });
    expect(counts).toEqual({ redelivered: 3, skipped: 1, failed: 2 });
    expect(seen.at(-1)).toMatchObject(counts);
    expect(new Set(seen.map(({ event }) => event.event_id)).size).toBe(6);
    const names = seen.flatMap(({ error }) => error?.name ?? []);
    expect(names.toSorted()).toEqual(["ConflictError", "ConnectionError", "ServerError"]);
    expect((await statuses()).filter((status) => status === "failed")).toHaveLength(3);
  });

  test.for([401, 403, 429])("ends after %i, which the next one would get too", async (status) => {
    const { client, id, fault, statuses } = await failed(20);
    // Only one of the concurrent requests receives this fault.
    await fault("status", { target: redeliverRoute, status, retry_after: 3_600 });
    const work = client.webhookEvents.redeliverFailed({ webhook_endpoint_id: id });
    expect(await errorOf(work)).toMatchObject({ status });
    expect((await statuses()).filter((one) => one === "succeeded").length).toBeLessThan(12);
  });

  test("ends when the list fails, or `onProgress` throws", async () => {
    const { client, id, fault, statuses } = await failed(12);
    const list = { target: "GET /v1/webhook-events", times: 3 };
    await fault("status", list);
    const options = { webhook_endpoint_id: id };
    const { webhookEvents } = client;
    expect(await errorOf(webhookEvents.redeliverFailed(options))).toBeInstanceOf(ServerError);
    const onProgress = () => {
      throw new RangeError("Enough.");
    };
    const work = webhookEvents.redeliverFailed({ ...options, onProgress });
    await expect(work).rejects.toThrow("Enough.");
    expect((await statuses()).filter((status) => status === "succeeded").length).toBeLessThan(5);
  });

  test("redelivers nothing twice where the list ignores its cursor", async () => {
    const data = [1, 2].map((n) => ({ event_id: `evt_${n}`, status: "failed" }));
    const redelivered: unknown[] = [];
    const { client } = await against(({ method, url }, response) => {
      if (method === "POST") redelivered.push(url);
      response.writeHead(200, json).end(JSON.stringify({ data, next_cursor: "next" }));
    });
    const work = client.webhookEvents.redeliverFailed({ webhook_endpoint_id: "we_1" });
    expect(await errorOf(work)).toMatchObject({ code: "invalid_response" });
    expect(new Set(redelivered).size).toBe(2);
    expect(redelivered).toHaveLength(2);
  });

  test("awaits `onProgress`, ends with its rejection, and does not call it later", async () => {
    const others = gate();
    const data = [1, 2, 3, 4, 5, 6].map((n) => ({ event_id: `evt_${n}`, status: "failed" }));
    const { client, notes } = await against(async ({ method, url = "" }, response) => {
      if (method === "GET") return void response.writeHead(200, json).end(JSON.stringify({ data }));
      if (!url.includes("evt_1")) await others.opened;
      return void response.writeHead(202).end();
    });
    const seen: string[] = [];
    const work = client.webhookEvents.redeliverFailed({
      webhook_endpoint_id: "we_1",
      async onProgress({ event }) {
        seen.push(event.event_id);
        await Promise.reject(new RangeError("Enough."));
      },
    });
    await expect(work).rejects.toThrow("Enough.");
    others.open();
    // The five requests are the list and four that ran concurrently.
    await until(() => notes.length === 5, "the other requests end");
    await new Promise((resolve) => setImmediate(resolve));
    expect([seen, notes.length]).toEqual([["evt_1"], 5]);
  });

  test("ends at a redirect, which the next one would get too", async () => {
    const data = Array.from({ length: 20 }, (_event, n) => ({
      event_id: `evt_${n}`,
      status: "failed",
    }));
    const { client, notes } = await against(({ method }, response) => {
      if (method === "GET") response.writeHead(200, json).end(JSON.stringify({ data }));
      else response.writeHead(307, { location: "http://other.example/" }).end();
    });
    const work = client.webhookEvents.redeliverFailed({ webhook_endpoint_id: "we_1" });
    expect(await errorOf(work)).toMatchObject({ code: "redirected" });
    expect(notes.length).toBeLessThan(10);
  });

  test("needs an endpoint, without which it would redeliver everything", async () => {
    const { client, notes } = await failed(1);
    const error = await errorOf(client.webhookEvents.redeliverFailed({} as never));
    expect(error).toMatchObject({ code: "invalid_request", param: "webhook_endpoint_id" });
    expect(notes).toEqual([]);
  });
});

describe("request", () => {
  test("makes any request, with its query and body, and takes an empty response", async () => {
    const { client } = await open({ assumptions: { "A-22": "204" } });
    const target = { url: "http://127.0.0.1:9", event_types: ["email.sent"] };
    const made = await client.request<{
      webhook_endpoint: { webhook_endpoint_id: string };
      secret: { reveal: () => string };
    }>("POST", "/v1/webhook-endpoints", { body: target });
    expect(made.secret.reveal()).toMatch(/^whsec_/);
    const { webhook_endpoint_id } = made.webhook_endpoint;
    const query = { webhook_endpoint_id, limit: 3, after: undefined };
    const list = client.request("GET", "/v1/webhook-events", { query });
    expect(await list).toEqual({ data: [], has_more: false, next_cursor: null });
    const path = `/v1/webhook-endpoints/${webhook_endpoint_id}` as const;
    const { result, response } = await client.request("DELETE", path).withResponse();
    expect([result, response.status, response.text()]).toEqual([undefined, 204, ""]);
    expect(response.requestId).toBe(response.headers.get("x-request-id"));
  });

  test.for(["v1", "", "/a?b", "/a#b", "/a/../b", "/..", "/a/.", "/a\\..\\b", "/a/.\t./b"])(
    "refuses the path %j",
    async (path) => {
      const { client, notes } = await against(() => {});
      const error = await errorOf(client.request("GET", path as "/"));
      expect(error).toMatchObject({ code: "invalid_request", param: "path", attempts: 0 });
      expect(notes).toEqual([]);
    },
  );

  test.for(["post", "Post", "patch"])(
    "does not repeat a request with the method %j",
    async (method) => {
      const methods: (string | undefined)[] = [];
      const { client } = await against((request, response) => {
        methods.push(request.method);
        response.writeHead(500).end();
      });
      const error = await errorOf(client.request(method as "POST", "/v1/x"));
      expect([error.attempts, methods]).toEqual([1, [method.toUpperCase()]]);
    },
  );

  test("refuses a body that is not JSON", async () => {
    const { client } = await against(() => {});
    const error = await errorOf(client.request("POST", "/v1/x", { body: { count: 1n } }));
    expect(error).toMatchObject({ code: "invalid_request", param: "body" });
  });
});

test("a redelivery without permission is an AuthenticationError", async () => {
  const { client, fault } = await open();
  await fault("status", { target: redeliverRoute, status: 401 });
  expect(await errorOf(client.webhookEvents.redeliver("evt_1"))).toBeInstanceOf(
    AuthenticationError,
  );
});

describe("sendAll", () => {
  const list = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...email,
      subject: String(index),
      idempotencyKey: `order-${index}`,
    }));

  test("sends 100 emails past a rate limit, each once, with its key and in order", async () => {
    const { client, notes, pauses } = await open({ assumptions: { "A-16": "delta:20/2s" } });
    const progress: number[] = [];
    const results = await client.emails.sendAll(list(100), {
      concurrency: 30,
      onProgress: ({ done, total }) => void progress.push(done / total),
    });
    const sent = results.flatMap((result) => ("ok" in result ? [result.ok] : []));
    expect(sent.map(({ subject, idempotencyKey }) => `${subject} ${idempotencyKey}`)).toEqual(
      list(100).map(({ subject, idempotencyKey }) => `${subject} ${idempotencyKey}`),
    );
    expect(new Set(sent.map(({ send_id }) => send_id)).size).toBe(100);
    const refused = notes.filter(({ code }) => code === "rate_limited");
    expect([notes.length, pauses.length]).toEqual([100 + refused.length, refused.length]);
    expect(refused.length).toBeGreaterThan(0);
    expect(progress).toEqual(Array.from({ length: 100 }, (_, index) => (index + 1) / 100));
  });

  test("returns what went wrong with an email, and sends the others", async () => {
    const { client, sends } = await open();
    const emails = list(3).map((one, index) => (index === 1 ? { ...one, to: [] } : one));
    const results = await client.emails.sendAll(emails, {
      onProgress() {
        throw new Error("no terminal");
      },
    });
    expect(results).toMatchObject([
      { ok: { subject: "0" } },
      { error: { code: "invalid_request", idempotencyKey: emails[1]?.idempotencyKey } },
      { ok: { subject: "2" } },
    ]);
    expect(await sends()).toBe(2);
  });

  test("returns an error for an item that is not an email, and sends the others", async () => {
    const { client, sends } = await open();
    const unreadable = {
      get to(): string[] {
        throw new Error("no recipients");
      },
    };
    const [first, ...others] = list(4);
    const emails = [first, null, undefined, unreadable, "text", ...others];
    const results = await client.emails.sendAll(emails as never, { concurrency: 2 });
    const refused = (param: string) => ({ error: { code: "invalid_request", param } });
    expect(results).toMatchObject([
      { ok: { subject: "0" } },
      refused("emails.1"),
      refused("emails.2"),
      refused("emails.3"),
      { error: { code: "invalid_request" } },
      { ok: { subject: "1" } },
      { ok: { subject: "2" } },
      { ok: { subject: "3" } },
    ]);
    expect(await sends()).toBe(4);
  });

  test("keeps the keys and the other results if a request fails in an unknown way", async () => {
    const { client, fault } = await open(
      {},
      {
        clock: {
          now: Date.now,
          async sleep() {
            throw new Error("broken clock");
          },
        },
      },
    );
    await fault("status", { status: 429 });
    const emails = list(2).map(({ idempotencyKey: _key, ...one }) => one);
    expect(await client.emails.sendAll(emails, { concurrency: 1 })).toMatchObject([
      {
        error: {
          code: "connection_failed",
          param: "emails.0",
          idempotencyKey: expect.stringMatching(/-/),
          cause: { message: "broken clock" },
        },
      },
      { ok: { subject: "1" } },
    ]);
  });

  test.each([
    [{ deadlineMs: -1 }, "deadlineMs"],
    [{ maxRetries: -5 }, "maxRetries"],
    [{ signal: {} }, "signal"],
    [{ onProgress: 5 }, "onProgress"],
  ])("refuses %j before it sends anything", async (options, param) => {
    const { client, sends } = await open();
    const error = await errorOf(client.emails.sendAll(list(2), options as never));
    expect(error).toMatchObject({ name: "ClientConfigError", code: "invalid_option", param });
    expect(await sends()).toBe(0);
  });

  test("ends at an abort with a result for each email, and its key", async () => {
    const controller = new AbortController();
    const { client, sends } = await open();
    const results = await client.emails.sendAll(list(5), {
      concurrency: 1,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    expect(await sends()).toBe(1);
    expect(results.slice(1)).toMatchObject(
      list(5)
        .slice(1)
        .map(({ idempotencyKey }) => ({ error: { code: "aborted", idempotencyKey } })),
    );
  });

  test.each([[0], [1.5], [101], ["5"]])("refuses a concurrency of %s", async (concurrency) => {
    const { client } = await open();
    const error = await errorOf(client.emails.sendAll([], { concurrency: concurrency as number }));
    expect(error).toBeInstanceOf(ClientConfigError);
    expect(error).toMatchObject({ code: "invalid_option", param: "concurrency" });
  });
});
