import { answer } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { zoom } from "../src/index.js";
import { signers } from "../src/sign.js";
import { countingStore, receiving, sender, worldOf } from "./support.js";

const challenge = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1a", token: "t" });

describe("Slack's url_verification", () => {
  test("ends as handshake with the challenge, and calls neither the store nor a handler", async () => {
    const clock = fakeClock();
    const { store, calls } = countingStore(clock);
    const { receive, sign, events } = await worldOf(sender("slack"), { clock, store });
    const outcome = await receive(await sign(challenge, { at: clock.now() }), challenge);
    expect(outcome).toMatchObject({ code: "handshake", status: 200 });
    expect(JSON.parse(answer(outcome).body)).toEqual({ challenge: "3eZbrw1a" });
    expect(calls).toEqual([]);
    expect(events).toEqual([]);
    const body = sender("slack").body({ at: clock.now() });
    await receive(await sign(body, { at: clock.now() }), body);
    expect(calls).toContain("claim");
  });

  test("is refused without a signature, and its challenge is not echoed", async () => {
    const { receive, sign, clock } = await worldOf(sender("slack"));
    const headers = await sign("{}", { at: clock.now() });
    for (const given of [{}, headers]) {
      const outcome = await receive(given, challenge);
      expect(outcome.status).toBe(401);
      expect(answer(outcome).body).not.toContain("3eZbrw1a");
    }
  });

  test.each([1, null, "", {}, undefined])("with %j as the challenge is not one", async (value) => {
    const { receive, sign, clock } = await worldOf(sender("slack"));
    const body = JSON.stringify({ type: "url_verification", challenge: value });
    const outcome = await receive(await sign(body, { at: clock.now() }), body);
    expect(outcome).toMatchObject({ code: "delivery_id_missing" });
  });
});

describe("Discord's PING", () => {
  const ping = '{"version":1,"application_id":"1","type":0}';

  test("ends as handshake with 204 and no body, and calls no store", async () => {
    const clock = fakeClock();
    const { store, calls } = countingStore(clock);
    const { receive, sign } = await worldOf(sender("discord"), { clock, store });
    const outcome = await receive(await sign(ping, { at: clock.now() }), ping);
    expect(outcome).toMatchObject({ code: "handshake" });
    expect(answer(outcome)).toEqual({ status: 204, headers: {}, body: "" });
    expect(calls).toEqual([]);
  });

  test("with a wrong signature, which Discord sends as a test, gets 401", async () => {
    const { receive, clock } = await worldOf(sender("discord"));
    const other = await worldOf(sender("discord"));
    const outcome = await receive(await other.sign(ping, { at: clock.now() }), ping);
    expect(answer(outcome).status).toBe(401);
  });

  test("of an interaction is not an event", async () => {
    const { receive, sign, clock } = await worldOf(sender("discord"));
    const outcome = await receive(await sign('{"type":1}', { at: clock.now() }), '{"type":1}');
    expect(outcome).toMatchObject({ code: "event_untyped" });
  });
});

describe("Zoom's endpoint.url_validation", () => {
  const validation = JSON.stringify({
    event: "endpoint.url_validation",
    payload: { plainToken: "qgg8vlvZRS6UYooatFL8Aw" },
  });

  test.each(["new", "old"])("is answered with the %s key that signed it", async (secret) => {
    const clock = fakeClock();
    const { store, calls } = countingStore(clock);
    const { receive } = receiving(zoom(), { secret: ["new", "old"], clock, store });
    const headers = await signers.zoom(validation, { secret, at: clock.now() });
    const outcome = await receive(headers, validation);
    expect(outcome).toMatchObject({ code: "handshake" });
    expect(JSON.parse(answer(outcome).body)).toEqual({
      plainToken: "qgg8vlvZRS6UYooatFL8Aw",
      encryptedToken: createHmac("sha256", secret).update("qgg8vlvZRS6UYooatFL8Aw").digest("hex"),
    });
    expect(calls).toEqual([]);
  });

  test("is refused without a genuine signature", async () => {
    const { receive, clock } = receiving(zoom(), { secret: "new" });
    const headers = await signers.zoom(validation, { secret: "other", at: clock.now() });
    expect(await receive(headers, validation)).toMatchObject({ code: "signature_mismatch" });
  });

  test("an event is processed, and its id is the hash of its body", async () => {
    const { receive, clock } = receiving(zoom(), { secret: "new" });
    const body = '{"event":"meeting.started","payload":{}}';
    const headers = await signers.zoom(body, { secret: "new", at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({
      code: "processed",
      type: "meeting.started",
      deliveryId: expect.stringMatching(/^[\da-f]{64}$/),
    });
    expect(await receive(headers, body)).toMatchObject({ code: "duplicate" });
  });
});
