import { describe, expect, test } from "vitest";
import {
  AuthenticationError,
  ServerError,
  TimeoutError,
  type BulkRedeliveryProgress,
  type WaitOptions,
} from "../src/index.js";
import { against, collected, email, errorOf, open } from "./support.js";

const json = { "content-type": "application/json" };

/** A service whose send has these statuses, one after the other; the last one stays. */
const sending = (...statuses: string[]) =>
  against((_request, response) => {
    const status = statuses.length > 1 ? statuses.shift() : statuses[0];
    response.writeHead(200, json).end(JSON.stringify({ send_id: "send_1", status }));
  });

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
  ])("resolves with %s", async ([, options, statuses, requests]) => {
    const { client, notes } = await sending(...statuses);
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

  test("pauses longer each time, up to 5 s, and ends before its deadline", async () => {
    const { client, pauses } = await sending("delayed");
    const error = await errorOf(client.sends.waitFor("send_1", { deadlineMs: 30_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    expect(error.message).toBe("The send send_1 is delayed after 30 s.");
    expect(pauses.slice(0, 3)).toEqual([250, 375, 562.5]);
    expect([Math.max(...pauses), pauses.length]).toEqual([5_000, 11]);
    expect(pauses.reduce((sum, pause) => sum + pause)).toBeLessThan(30_000);
  });

  test("rejects with the error of a request", async () => {
    const { client } = await open();
    const error = await errorOf(client.sends.waitFor("send_1"));
    expect(error).toMatchObject({ status: 404, code: "not_found" });
  });
});

/** A sandbox with failed deliveries to an endpoint that works by now. */
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
    [-1, 0],
    [Number.NaN, 0],
  ])("redelivers at most %i", async ([max = 0, expected = 0]) => {
    const { client, id, statuses } = await failed(3);
    const counts = await client.webhookEvents.redeliverFailed({ webhook_endpoint_id: id, max });
    expect(counts.redelivered).toBe(expected);
    expect((await statuses()).filter((status) => status === "succeeded")).toHaveLength(expected);
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
    // Only one of the requests that run at the same time gets it.
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
