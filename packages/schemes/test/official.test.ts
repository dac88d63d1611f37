import examples from "@octokit/webhooks-examples" with { type: "json" };
import { sign as signAsOctokit, verify as verifyAsOctokit } from "@octokit/webhooks-methods";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { fakeClock } from "@svc-webhooks/testing";
import { verifyKey } from "discord-interactions";
import { createPrivateKey, createSign } from "node:crypto";
import { Resend } from "resend";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { github, resend, standardWebhooks, stripe } from "../src/index.js";
import { senders as known } from "../src/senders.js";
import { receiving, sender, signedWorldOf, worldOf } from "./support.js";

// Compares the schemes with the senders' own packages. Those that need Node 22 are in official.matrix.ts.

describe("standardwebhooks", () => {
  test("its signature is processed, and it accepts that of the signer", async () => {
    const { secret } = await known["standard-webhooks"].testKeys();
    const webhook = new Webhook(secret);
    const { receive, clock } = receiving(standardWebhooks(), { secret });
    const body = '{"type":"contact.created","data":{"name":"Zoë"}}';
    const at = new Date(clock.now());
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(clock.now() / 1_000),
      "webhook-signature": webhook.sign("msg_1", at, body),
    };
    expect(await receive(headers, body)).toMatchObject({ code: "processed", deliveryId: "msg_1" });
    expect(await receive(headers, body)).toMatchObject({ code: "duplicate" });
    expect(await receive(headers, `${body} `)).toMatchObject({ code: "signature_mismatch" });
    // The package has no clock of its own.
    const now = await known["standard-webhooks"].sign(body, { secret });
    expect(webhook.verify(body, { ...now })).toEqual(JSON.parse(body));
  });

  test("it accepts digits that are followed by letters, which are malformed here", async () => {
    const { secret } = await known["standard-webhooks"].testKeys();
    const { receive, clock } = receiving(standardWebhooks(), { secret });
    const headers = await known["standard-webhooks"].sign("{}", { secret, at: clock.now() });
    const lettered = { ...headers, "webhook-timestamp": `${headers["webhook-timestamp"]}abc` };
    expect(await receive(lettered, "{}")).toMatchObject({ code: "signature_malformed" });
    const now = await known["standard-webhooks"].sign("{}", { secret });
    const accepted = { ...now, "webhook-timestamp": `${now["webhook-timestamp"]}abc` };
    expect(new Webhook(secret).verify("{}", accepted)).toEqual({});
  });
});

test("resend accepts the signature of the signer, which its receiver processes", async () => {
  const { secret } = await known.resend.testKeys();
  const { webhooks } = new Resend("re_unused");
  const body = '{"type":"email.bounced","data":{"email_id":"1"}}';
  const clock = fakeClock();
  // The package reads the real clock.
  clock.jump(Date.now() - clock.now());
  const signed = await known.resend.sign(body, { secret, at: clock.now() });
  const verify = (payload: string) =>
    webhooks.verify({
      payload,
      webhookSecret: secret,
      headers: {
        id: signed["svix-id"] ?? "",
        timestamp: signed["svix-timestamp"] ?? "",
        signature: signed["svix-signature"] ?? "",
      },
    });
  const { receive } = receiving(resend(), { secret, clock });
  expect(verify(body)).toEqual(JSON.parse(body));
  expect(await receive(signed, body)).toMatchObject({ code: "processed" });
  expect(() => verify(`${body} `)).toThrow("No matching signature found");
  expect(await receive(signed, `${body} `)).toMatchObject({ code: "signature_mismatch" });
});

describe("stripe", () => {
  const { webhooks } = new Stripe("sk_test_unused");
  const payload = JSON.stringify({ id: "evt_1", object: "event", type: "invoice.paid" });
  const header = (secret: string, timestamp: number, scheme = "v1") =>
    webhooks.generateTestHeaderString({ payload, secret, timestamp, scheme });

  test("its header is processed with a list of keys, and it accepts that of the signer", async () => {
    const clock = fakeClock();
    const { receive } = receiving(stripe(), { secret: ["whsec_new", "whsec_old"], clock });
    const headers = { "stripe-signature": header("whsec_old", clock.now() / 1_000) };
    expect(await receive(headers, payload)).toMatchObject({
      code: "processed",
      deliveryId: "evt_1",
      eventId: "evt_1",
      eventIdSigned: true,
      warnings: ["old_secret"],
    });
    const own = await known.stripe.sign(payload, { secret: "whsec_new" });
    const event = webhooks.constructEvent(payload, own["stripe-signature"] ?? "", "whsec_new");
    expect(event.id).toBe("evt_1");
  });

  test.each([
    ["the first one", ["whsec_new", "whsec_other"]],
    ["the last one", ["whsec_other", "whsec_new"]],
  ])("of two v1 in a header, %s is accepted", async (_which, secrets) => {
    const clock = fakeClock();
    const { receive } = receiving(stripe(), { secret: "whsec_new", clock });
    const [first = "", second = ""] = secrets.map((one) => header(one, clock.now() / 1_000));
    const joined = `${first},${second.replace(/^t=\d+,/, "")}`;
    expect(await receive({ "stripe-signature": joined }, payload)).toMatchObject({
      code: "processed",
      warnings: [],
    });
  });

  test("v0 alone is malformed, and v0 next to v1 is skipped", async () => {
    const clock = fakeClock();
    const { receive } = receiving(stripe(), { secret: "whsec_new", clock });
    const v0 = header("whsec_new", clock.now() / 1_000, "v0");
    expect(await receive({ "stripe-signature": v0 }, payload)).toMatchObject({
      code: "signature_malformed",
    });
    const both = `${header("whsec_new", clock.now() / 1_000)},${v0.replace(/^t=\d+,/, "")}`;
    expect(await receive({ "stripe-signature": both }, payload)).toMatchObject({
      code: "processed",
    });
  });
});

describe("@octokit", () => {
  // Its types describe a module, and its file is a list.
  const groups = examples as unknown as readonly {
    readonly name: string;
    readonly examples: readonly { readonly action?: string }[];
  }[];
  const payloads = groups.flatMap(({ name, examples: each }) =>
    each.map((payload) => ({ name, payload })),
  );

  test("all 329 of its examples are processed as the event and its action", async () => {
    const { receive, events } = receiving(github(), { secret: "octokit" });
    expect(payloads).toHaveLength(329);
    for (const [index, { name, payload }] of payloads.entries()) {
      const body = JSON.stringify(payload);
      const headers = {
        "x-hub-signature-256": await signAsOctokit("octokit", body),
        "x-github-event": name,
        "x-github-delivery": `guid-${index}`,
      };
      const type = payload.action ? `${name}.${payload.action}` : name;
      expect(await receive(headers, body)).toMatchObject({ code: "processed", type });
    }
    expect(events).toHaveLength(329);
  });

  test("it accepts the signature of the signer", async () => {
    const headers = await known.github.sign("{}", { secret: "octokit" });
    expect(await verifyAsOctokit("octokit", "{}", headers["x-hub-signature-256"] ?? "")).toBe(true);
  });
});

test("discord-interactions accepts what the receiver processes", async () => {
  const one = sender("discord");
  const { keys, receive, body, headers } = await signedWorldOf(one);
  const isAccepted = (text: string) =>
    verifyKey(
      text,
      headers["x-signature-ed25519"] ?? "",
      headers["x-signature-timestamp"] ?? "",
      keys.secret,
    );
  expect(await isAccepted(body)).toBe(true);
  expect(await receive(headers, body)).toMatchObject({ code: "processed" });
  expect(await isAccepted(`${body} `)).toBe(false);
  expect(await receive(headers, `${body} `)).toMatchObject({ code: "signature_mismatch" });
});

describe("@sendgrid/eventwebhook", () => {
  test("50 signatures with r and s of any length are accepted by it and by the receiver", async () => {
    const one = sender("sendgrid");
    const { keys, receive, clock } = await worldOf(one);
    const official = new EventWebhook();
    const publicKey = official.convertPublicKeyToECDSA(keys.secret);
    const privateKey = createPrivateKey({
      key: Buffer.from(keys.signingSecret, "base64"),
      format: "der",
      type: "pkcs8",
    });
    const time = String(clock.now() / 1_000);
    const lengths = new Set<number>();
    for (let index = 0; index < 50; index += 1) {
      const body = JSON.stringify([{ event: "open", index }]);
      const signature = createSign("sha256")
        .update(time + body)
        .sign(privateKey, "base64");
      lengths.add(Buffer.from(signature, "base64").length);
      const headers = {
        "x-twilio-email-event-webhook-signature": signature,
        "x-twilio-email-event-webhook-timestamp": time,
      };
      expect(await receive(headers, body)).toMatchObject({ code: "processed" });
      if (index < 3) expect(official.verifySignature(publicKey, body, signature, time)).toBe(true);
    }
    expect(lengths.size).toBeGreaterThan(1);
  });

  test("it accepts the signature of the signer", async () => {
    const { keys, sign, clock } = await worldOf(sender("sendgrid"));
    const official = new EventWebhook();
    const publicKey = official.convertPublicKeyToECDSA(keys.secret);
    for (let index = 0; index < 5; index += 1) {
      const body = JSON.stringify([{ event: "open", index }]);
      const headers = await sign(body, { at: clock.now() });
      const accepted = official.verifySignature(
        publicKey,
        body,
        headers["x-twilio-email-event-webhook-signature"] ?? "",
        headers["x-twilio-email-event-webhook-timestamp"] ?? "",
      );
      expect(accepted).toBe(true);
    }
  });

  test("a list of two events is one delivery", async () => {
    const { receive, sign, clock, events } = await worldOf(sender("sendgrid"));
    const body = '[{"event":"open"},\r\n{"event":"click"}]\r\n';
    await receive(await sign(body, { at: clock.now() }), body);
    expect(events).toEqual([{ type: "events", events: [{ event: "open" }, { event: "click" }] }]);
  });
});
