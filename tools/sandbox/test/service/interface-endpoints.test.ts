import { describe, expect, test } from "vitest";
import { allTypes, email, hmac, receiver, open, subscribed } from "../support.js";

// Each test checks one fact of docs/interface.md. docs/interface-table.md refers to it by its title.

describe("webhook endpoints", () => {
  test("creation returns webhook_endpoint with its four fields, and secret", async () => {
    const { call } = await open();
    const url = "http://127.0.0.1:9/webhooks";
    const created = await call("POST /v1/webhook-endpoints", { url, event_types: allTypes });
    const { webhook_endpoint_id: id } = created.body.webhook_endpoint;
    expect(created.body).toEqual({
      webhook_endpoint: {
        webhook_endpoint_id: id,
        url,
        status: "active",
        event_types: allTypes,
      },
      secret: created.body.secret,
    });
    expect(id).toMatch(/^we_\w+$/);
    expect(created.body.secret).toMatch(/^whsec_\w+$/);
  });

  test.each([
    ["url", undefined],
    ["url", 1],
    ["url", "webhooks"],
    ["event_types", undefined],
    ["event_types", "email.sent"],
    ["event_types", []],
    ["event_types", [1]],
  ])("creation refuses %s = %j with 400 invalid_request", async (field, value) => {
    const { call } = await open();
    const request = { url: "http://127.0.0.1:9/", event_types: ["email.sent"], [field]: value };
    const { status, body } = await call("POST /v1/webhook-endpoints", request);
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    expect(body.error.param.split(".")[0]).toBe(field);
  });

  test.each([
    ["https://93.184.215.14/webhooks", 201],
    ["http://93.184.215.14/webhooks", 400],
    ["https://127.0.0.1/webhooks", 400],
    ["https://10.1.2.3/webhooks", 400],
    ["https://192.168.1.1/webhooks", 400],
    ["https://100.64.0.1/webhooks", 400],
  ])("under the documented rule, the URL %s gets %i", async (url, expected) => {
    const { call } = await open({ assumptions: { "A-21": "strict" } });
    const body = { url, event_types: ["email.sent"] };
    expect((await call("POST /v1/webhook-endpoints", body)).status).toBe(expected);
  });

  test("rotation leaves the endpoint active, and returns a new secret that signs", async () => {
    const { call, path, secret, got, send, settle } = await subscribed();
    const rotated = await call(`POST ${path}:rotate-secret`);
    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).toMatch(/^whsec_\w+$/);
    expect(rotated.body.secret).not.toBe(secret);
    expect(rotated.body.webhook_endpoint.status).toBe("active");
    await send();
    await settle();
    const [request] = got;
    expect(request?.headers["x-svc-signature"]).toBe(
      hmac(request?.body ?? Buffer.of(), rotated.body.secret),
    );
  });

  test("a secret is in the responses to creation and rotation, and in no other", async () => {
    const { call, path, secret, send, settle, url } = await subscribed();
    const { body } = await call(`POST ${path}:rotate-secret`);
    const accepted = await send();
    await settle();
    const texts = [
      await call(`GET /v1/sends/${accepted.body.send_id}`),
      await call("GET /v1/webhook-events"),
      await call("GET /v1/webhook-event-types"),
      await call(`DELETE ${path}`),
      await call("POST /v1/webhook-endpoints", { url, event_types: ["none"] }),
    ].map(({ text }) => text);
    expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    expect(texts.filter((text) => text.includes(body.secret))).toEqual([]);
    expect(texts.join("")).not.toContain("whsec_");
  });

  test("an archived endpoint receives nothing more", async () => {
    const { call, path, got, send, settle } = await subscribed();
    expect((await call(`DELETE ${path}`)).body.status).toBe("archived");
    await send();
    await settle();
    expect(got).toHaveLength(0);
  });

  test("archiving and rotating need an endpoint that exists", async () => {
    const { call } = await open();
    expect((await call("DELETE /v1/webhook-endpoints/we_none")).status).toBe(404);
    expect((await call("POST /v1/webhook-endpoints/we_none:rotate-secret")).status).toBe(404);
  });
});

describe("webhook events", () => {
  test("the list of event types has the three named types", async () => {
    const { call } = await open();
    const { body } = await call("GET /v1/webhook-event-types");
    expect(body.data.map(({ type }) => type)).toEqual(allTypes);
  });

  test("webhook_endpoint_id limits the list to the deliveries of one endpoint", async () => {
    const { call, id, send, settle } = await subscribed();
    const other = await receiver();
    await call("POST /v1/webhook-endpoints", { url: other.url, event_types: allTypes });
    await send();
    await settle();
    expect((await call("GET /v1/webhook-events")).body.data).toHaveLength(4);
    const { data } = (await call(`GET /v1/webhook-events?webhook_endpoint_id=${id}`)).body;
    expect(data.map((item) => item.webhook_endpoint_id)).toEqual([id, id]);
  });

  test("a failed delivery is retried by its event_id", async () => {
    const { call, got, send, settle } = await subscribed([500, 500], {
      assumptions: { "A-09": "none" },
    });
    await send();
    await settle();
    const [item] = (await call("GET /v1/webhook-events")).body.data;
    expect(item?.status).toBe("failed");
    const answered = await call(`POST /v1/webhook-events/${item?.event_id}:redeliver`);
    expect(answered.status).toBe(202);
    await settle();
    expect(got).toHaveLength(3);
    expect(got[2]?.headers["x-svc-event-id"]).toBe(item?.event_id);
    expect((await call("GET /v1/webhook-events")).body.data[0]?.status).toBe("succeeded");
  });

  test("only subscribed types are posted, to active endpoints", async () => {
    const { call, got, settle } = await subscribed();
    const picky = await receiver();
    const body = { url: picky.url, event_types: ["domain.updated"] };
    await call("POST /v1/webhook-endpoints", body);
    await call("POST /v1/emails", email);
    await settle();
    expect(got.map(({ method }) => method)).toEqual(["POST", "POST"]);
    expect(picky.got).toHaveLength(0);
  });
});
