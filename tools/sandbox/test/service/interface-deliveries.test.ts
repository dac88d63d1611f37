import { createReceiver, verify } from "@svc-webhooks/core";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import { describe, expect, test } from "vitest";
import { email, apiKey, hmac, open, subscribed } from "../support.js";

// Each test checks one fact of docs/interface.md. docs/interface-table.md refers to it by its title.

describe("deliveries", () => {
  const first = async (statuses: readonly number[] = []) => {
    const all = await subscribed(statuses);
    await all.send();
    await all.settle();
    return all;
  };

  test("X-SVC-Signature is sha256= and the HMAC-SHA256 of the raw body in hex", async () => {
    const { got, secret } = await first();
    expect(got).toHaveLength(2);
    for (const request of got) {
      expect(request.headers["x-svc-signature"]).toBe(hmac(request.body, secret));
      expect(request?.headers["x-svc-signature"]).toMatch(/^sha256=[0-9a-f]{64}$/);
    }
  });

  test("a changed body, a cut signature and one without sha256= are invalid", async () => {
    const { got, secret } = await first();
    const body = got[0]?.body ?? Buffer.of();
    const signature = got[0]?.headers["x-svc-signature"] ?? "";
    const codeOf = async (...parts: Parameters<typeof verify>) => {
      const result = await verify(...parts);
      return result.ok ? "ok" : result.code;
    };
    expect(await codeOf(body, signature, secret)).toBe("ok");
    expect(await codeOf(`${body.toString()} `, signature, secret)).toBe("signature_mismatch");
    expect(await codeOf(body, signature.slice(0, -1), secret)).toBe("signature_malformed");
    expect(await codeOf(body, signature.slice("sha256=".length), secret)).toBe(
      "signature_malformed",
    );
  });

  test("X-SVC-Delivery-Id is the same for all attempts, and is also the Idempotency-Key", async () => {
    const { got, values, sandbox } = await first([500, 500]);
    await sandbox.clock.advance(1_000);
    expect(got).toHaveLength(4);
    const ids = values("x-svc-delivery-id");
    expect(new Set(ids).size).toBe(2);
    expect(ids.slice(2).toSorted()).toEqual(ids.slice(0, 2).toSorted());
    expect(values("idempotency-key")).toEqual(ids);
  });

  test("X-SVC-Subscription-Id is that of the endpoint and type, for every event", async () => {
    const { values, send, settle } = await first();
    await send();
    await settle();
    const ids = values("x-svc-subscription-id");
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(2);
  });

  test("X-SVC-Event-Id is the event_id of the list", async () => {
    const { call, values } = await first();
    const { data } = (await call("GET /v1/webhook-events")).body;
    expect(values("x-svc-event-id").toSorted()).toEqual(
      data.map((item) => item.event_id).toSorted(),
    );
  });

  test("X-SVC-Attempt counts the attempts of a delivery from 1", async () => {
    const { values, sandbox } = await first([500, 500, 500, 500]);
    await sandbox.clock.advance(6_000);
    const numbers = values("x-svc-attempt");
    expect(numbers).toEqual(["1", "1", "2", "2", "3", "3"]);
  });

  test("carry no API key", async () => {
    const { got } = await first();
    expect(got).toHaveLength(2);
    for (const { headers, body } of got) {
      expect(headers.authorization).toBeUndefined();
      expect(JSON.stringify(headers) + body.toString()).not.toContain(apiKey);
    }
  });

  test("a receiver handles a redelivered event once", async () => {
    const handled: unknown[] = [];
    const { call, sandbox } = await open({ assumptions: { "A-17": "any" } });
    let secret = "";
    const port = await listen(
      webhooks(
        createReceiver({ secret: () => secret, on: { "*": (event) => void handled.push(event) } }),
      ),
    );
    const body = { url: `http://127.0.0.1:${port}/`, event_types: ["email.delivered"] };
    ({ secret } = (await call("POST /v1/webhook-endpoints", body)).body);
    await call("POST /v1/emails", email);
    await sandbox.clock.advance(0);
    const [item] = (await call("GET /v1/webhook-events")).body.data;
    await call(`POST /v1/webhook-events/${item?.event_id}:redeliver`);
    await sandbox.clock.advance(0);
    const [again] = (await call("GET /v1/webhook-events")).body.data;
    expect(again).toMatchObject({ status: "succeeded", attempts: 2 });
    expect(handled).toHaveLength(1);
  });
});
