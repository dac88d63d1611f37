import { fakeClock } from "@svc-webhooks/testing";
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { gitlab, notion, polar, woocommerce, zoom } from "../src/index.js";
import { senders as known } from "../src/senders.js";
import { receiving, sender, worldOf } from "./support.js";

test("the attempts of one event of Notion are one run, although their bodies differ", async () => {
  const { receive, sign, clock, events } = await worldOf(sender("notion"));
  const codes: string[] = [];
  for (const attempt_number of [1, 2, 8]) {
    const body = JSON.stringify({ id: "evt_1", type: "page.created", attempt_number });
    codes.push((await receive(await sign(body, { at: clock.now() }), body)).code);
  }
  expect(codes).toEqual(["processed", "duplicate", "duplicate"]);
  expect(events).toHaveLength(1);
});

test("two deliveries of WooCommerce with one delivery id and two bodies are two runs", async () => {
  const { receive, sign, clock, events } = await worldOf(sender("woocommerce"));
  const send = async (body: string) => {
    const headers = await sign(body, { at: clock.now(), type: "order.created" });
    return receive({ ...headers, "x-wc-webhook-delivery-id": "a1b2c3" }, body);
  };
  expect((await send('{"id":1}')).code).toBe("processed");
  expect((await send('{"id":2}')).code).toBe("processed");
  expect((await send('{"id":1}')).code).toBe("duplicate");
  expect(events).toHaveLength(2);
  expect(woocommerce().headers).not.toContain("x-wc-webhook-delivery-id");
});

describe("polar", () => {
  const decoded = Buffer.alloc(32, 9);
  const secret = `whsec_${decoded.toString("base64")}`;
  const body = '{"type":"order.paid"}';

  function headersOf(key: Uint8Array, seconds: number) {
    const digest = createHmac("sha256", key).update(`msg_1.${seconds}.${body}`).digest("base64");
    return {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${digest}`,
    };
  }

  const codeOf = async (given: string | Uint8Array, key: Uint8Array) => {
    const { receive, clock } = receiving(polar(), { secret: given });
    return (await receive(headersOf(key, clock.now() / 1_000), body)).code;
  };

  test.each<[string, string, Uint8Array, string]>([
    ["the decoded key", secret, decoded, "processed"],
    ["the text", secret, Buffer.from(secret), "processed"],
    ["the text without its prefix", secret, Buffer.from(secret.slice(6)), "signature_mismatch"],
    ["the text of another prefix", "polar_whs_1", Buffer.from("polar_whs_1"), "processed"],
    ["the text of a short key", "whsec_MTIz", Buffer.from("whsec_MTIz"), "processed"],
    ["the bytes of a short key", "whsec_MTIz", Buffer.from("123"), "signature_mismatch"],
    ["an empty key", "whsec_", Buffer.alloc(0), "signature_mismatch"],
    ["another key", secret, Buffer.alloc(32, 8), "signature_mismatch"],
  ])("%s of a secret", async (_what, given, key, code) => {
    expect(await codeOf(given, key)).toBe(code);
  });

  test("bytes are the only key", async () => {
    expect(await codeOf(decoded, decoded)).toBe("processed");
    expect(await codeOf(decoded, Buffer.from(secret))).toBe("signature_mismatch");
  });

  test("is signed with the decoded key or, for an older secret, with the text", async () => {
    for (const [given, key] of [
      [secret, decoded],
      ["polar_whs_1", Buffer.from("polar_whs_1")],
    ] as const) {
      const headers = await known.polar.sign(body, { secret: given, deliveryId: "msg_1", at: 0 });
      expect(headers).toEqual(headersOf(key, 0));
    }
  });
});

describe("gitlab", () => {
  test.each<[unknown, string | undefined]>([
    [{ object_kind: "push" }, "push"],
    [{ object_kind: "issue", object_attributes: { action: "open" } }, "issue.open"],
    [{ object_kind: "pipeline", object_attributes: { status: "success" } }, "pipeline"],
    [{ object_kind: "push", object_attributes: null }, "push"],
    [{ object_attributes: { action: "open" } }, undefined],
    [{ object_kind: 7 }, undefined],
  ])("%j has the type %s", async (event, type) => {
    const { receive, sign, clock } = await worldOf(sender("gitlab"));
    const body = JSON.stringify(event);
    const outcome = await receive(await sign(body, { at: clock.now() }), body);
    expect(outcome).toMatchObject(type ? { code: "processed", type } : { code: "event_untyped" });
  });

  test("a request with X-Gitlab-Token alone is refused", async () => {
    const { secret } = await known.gitlab.testKeys();
    const { receive, clock } = receiving(gitlab(), { secret });
    const headers = {
      "x-gitlab-token": secret,
      "webhook-id": "1",
      "webhook-timestamp": String(clock.now() / 1_000),
    };
    expect(await receive(headers, '{"object_kind":"push"}')).toMatchObject({
      code: "signature_missing",
    });
  });
});

test("a validation request of Zoom without a token ends as handshake", async () => {
  const clock = fakeClock();
  const { receive } = receiving(zoom(), { secret: "a secret", clock });
  for (const payload of [undefined, null, {}, "text"]) {
    const body = JSON.stringify({ event: "endpoint.url_validation", payload });
    const headers = await known.zoom.sign(body, { secret: "a secret", at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({ code: "handshake" });
  }
});

test.each(["page.created", "page.content_updated"])(
  "notion has the id of the event as the event id of %s",
  async (type) => {
    const { receive, sign, clock } = await worldOf(sender("notion"));
    const body = JSON.stringify({ id: "evt_1", type, timestamp: "2026-11-30T12:00:00Z" });
    const outcome = await receive(await sign(body, { at: clock.now() }), body);
    expect(outcome).toMatchObject({ type, deliveryId: "evt_1", eventId: "evt_1" });
    expect(notion().notice).toBeUndefined();
  },
);
