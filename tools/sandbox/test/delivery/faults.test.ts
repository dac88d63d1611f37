import { present } from "@svc-webhooks/kit/present";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import type { Fault, Refusal } from "@svc-webhooks/kit/sandbox-responses";
import { open, receiver, type Opened } from "../support.js";

/** Returns the last call as it was recorded. */
const kept = async ({ calls }: Opened) => present((await calls()).at(-1));

const messageOf = async (fault: Promise<Fault>) =>
  (await (fault as Promise<unknown> as Promise<Refusal>)).error.message;

describe("a fault of a route", () => {
  test.for([
    [{ status: 503 }, 503, "service_unavailable", null],
    [{ status: 429 }, 429, "rate_limited", "1"],
    [{ status: 429, retry_after: 7 }, 429, "rate_limited", "7"],
    [{ status: 418 }, 418, "invalid_request", null],
  ] as const)("of kind status responds as %j asks, once", async ([more, status, code, after]) => {
    const opened = await open();
    await opened.fault("status", more);
    const { status: seen, body, headers } = await opened.send();
    expect([seen, body.error.code, headers.get("retry-after")]).toEqual([status, code, after]);
    expect((await opened.sends()).length).toBe(0);
    expect((await opened.send()).status).toBe(202);
  });

  test.for([
    ["refused", 0],
    ["reset", 0],
    ["response_lost", 1],
  ] as const)("of kind %s closes the connection, and %i sends exist", async ([kind, sends]) => {
    const opened = await open();
    await opened.fault(kind);
    const key = { "idempotency-key": "one" };
    await expect(opened.send({}, key)).rejects.toThrow("fetch failed");
    expect([(await opened.sends()).length, (await kept(opened)).lost]).toEqual([sends, true]);
    // The client's retry finds exactly one send.
    expect((await opened.send({}, key)).status).toBe(202);
    expect([(await opened.sends()).length, (await kept(opened)).replayed]).toEqual([
      1,
      sends === 1,
    ]);
  });

  test("of kind timeout does not respond until the client disconnects", async () => {
    const opened = await open();
    await opened.fault("timeout");
    const controller = new AbortController();
    const sent = fetch(`${opened.url}/v1/emails`, {
      method: "POST",
      signal: controller.signal,
      headers: { authorization: "Bearer a" },
    });
    await until(async () => (await kept(opened))?.lost, "the request has arrived");
    controller.abort();
    await expect(sent).rejects.toThrow(/aborted/);
  });

  test("of kind slow waits on the clock", async () => {
    const opened = await open();
    await opened.fault("slow", { delay_ms: 60_000 });
    const sent = opened.send();
    await until(() => opened.clock.nextDue !== undefined, "the request waits");
    const item = await opened.clock.advanceToNext();
    expect([item?.kind, (await sent).status]).toEqual(["delay", 202]);
  });

  test("of status 304 has no body, as HTTP requires", async () => {
    const opened = await open();
    const target = "GET /v1/webhook-event-types";
    await opened.fault("status", { target, status: 304 });
    const { status, body } = await opened.call(target);
    expect([status, body]).toEqual([304, undefined]);
  });

  test("cannot be of kind duplicate, and does not reach other routes", async () => {
    const opened = await open();
    expect(await messageOf(opened.fault("duplicate"))).toBe(
      "A fault of the kind duplicate changes deliveries, so it needs an endpoint (we_…) as its target.",
    );
    await opened.fault("status");
    expect((await opened.call("GET /v1/webhook-events")).status).toBe(200);
  });
});

describe("a fault of an endpoint", () => {
  test.for([
    ["status", { status: 503 }, [503, undefined], 1],
    ["refused", {}, [undefined, "refused"], 1],
    ["reset", {}, [undefined, "reset"], 1],
    ["response_lost", {}, [undefined, "reset"], 2],
    ["timeout", {}, [undefined, "timeout"], 1],
    ["slow", { delay_ms: 20_000 }, [undefined, "timeout"], 1],
    ["slow", { delay_ms: 2_000 }, [200, undefined], 1],
    ["duplicate", {}, [200, undefined], 2],
  ] as const)("of kind %s %j hits one attempt", async ([kind, more, first, requests]) => {
    const opened = await open();
    const { url, got } = await receiver();
    const { id } = await opened.register(url);
    const fault = await opened.fault(kind, { target: id, ...more });
    await opened.send();
    await opened.clock.advance(100_000);
    const [delivery] = await opened.deliveries();
    const attempt = delivery?.attempts[0];
    expect([attempt?.status, attempt?.error]).toEqual(first);
    const slots = (await opened.control("GET faults")).body.data[0]?.slots;
    expect(attempt?.fault_id).toBe(fault.id);
    expect(slots).toMatchObject([{ used_by: delivery?.id }]);
    expect([delivery?.state, got.length]).toEqual(["succeeded", requests]);
    expect(opened.clock.nextDue).toBeUndefined();
  });

  test("of kind duplicate succeeds if one of both copies is accepted", async () => {
    const opened = await open();
    const { url, got } = await receiver([503, 200]);
    const { id } = await opened.register(url);
    await opened.fault("duplicate", { target: id });
    await opened.send();
    await opened.clock.advance(100_000);
    const [event] = await opened.events();
    expect([event?.status, got.length]).toEqual(["succeeded", 2]);
    const reply = await opened.call(`POST /v1/webhook-events/${event?.event_id}:redeliver`);
    expect(reply.status).toBe(409);
  });

  test("is used in its order and can be canceled", async () => {
    const opened = await open({ assumptions: { "A-09": "1s,1s,1s" } });
    const { url, got } = await receiver();
    const { id } = await opened.register(url);
    await opened.fault("status", { target: id, status: 500, times: 2 });
    const canceled = await opened.fault("status", { target: id, status: 501 });
    await opened.fault("status", { target: id, status: 502 });
    await opened.control(`POST faults/${canceled.id}/cancel`);
    await opened.send();
    await opened.clock.advance(10_000);
    const [delivery] = await opened.deliveries();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 500, 502, 200]);
    expect(got.length).toBe(1);
    expect(await messageOf(opened.fault("status", { target: "we_unknown" }))).toMatch(
      /no endpoint/,
    );
    const unknown = opened.control("POST faults/fault_unknown/cancel");
    expect((await unknown).body.error.message).toMatch(/no fault|no such fault/);
  });
});

test("attempts that wait for the clock because of a fault do not make a moved clock wait", async () => {
  // The test would time out if the clock waited that long.
  const opened = await open({ clock: { mode: "manual", patienceMs: 600_000 } });
  const { url } = await receiver();
  const { id } = await opened.register(url);
  await opened.fault("slow", { target: id, delay_ms: 5_000, times: 5 });
  for (let n = 0; n < 5; n += 1) await opened.send();
  await opened.clock.advance(4_999);
  const states = async () => (await opened.deliveries()).map(({ state }) => state);
  expect(new Set(await states())).toEqual(new Set(["attempting"]));
  await opened.clock.advance(1);
  expect(new Set(await states())).toEqual(new Set(["succeeded"]));
  await opened.fault("timeout", { target: id });
  await opened.send();
  await opened.clock.advance(15_000);
  expect((await opened.deliveries()).at(-1)?.attempts).toMatchObject([{ error: "timeout" }]);
});
