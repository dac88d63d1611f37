import { sized } from "@svc-webhooks/kit/sized";
import { sign as signAsOctokit } from "@octokit/webhooks-methods";
import { fakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { createHmac, createPrivateKey, createSign, sign as signWithNode } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { senders as known, type SenderName, type TestKeys } from "../src/senders.js";
import { receiving, sender, type Headers } from "./support.js";

interface Signing {
  readonly body: string;
  readonly id: string;
  readonly seconds: number;
  readonly keys: TestKeys;
}

const { webhooks } = new Stripe("sk_test_unused");

const hexHmac = (key: string, text: string) => createHmac("sha256", key).update(text).digest("hex");

const pkcs8 = (key: Buffer) => createPrivateKey({ key, format: "der", type: "pkcs8" });

/** PKCS #8 of an Ed25519 private key (RFC 8410). */
const ed25519 = (seed: Buffer) =>
  pkcs8(Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]));

/** Signs as the senders do: with their own packages where those sign, otherwise with node:crypto. */
const official: Readonly<
  Partial<Record<SenderName, (signing: Signing) => Headers | Promise<Headers>>>
> = {
  "standard-webhooks": ({ body, id, seconds, keys }) => ({
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": new Webhook(keys.secret).sign(id, new Date(seconds * 1_000), body),
  }),
  "standard-webhooks-ed25519"({ body, id, seconds, keys }) {
    const seed = Buffer.from(keys.signingSecret.slice(5), "base64").subarray(0, 32);
    const message = Buffer.from(`${id}.${seconds}.${body}`);
    return {
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1a,${signWithNode(null, message, ed25519(seed)).toString("base64")}`,
    };
  },
  stripe: ({ body, seconds, keys }) => ({
    "stripe-signature": webhooks.generateTestHeaderString({
      payload: body,
      secret: keys.secret,
      timestamp: seconds,
    }),
  }),
  github: async ({ body, id, keys }) => ({
    "x-hub-signature-256": await signAsOctokit(keys.secret, body),
    "x-github-delivery": id,
    "x-github-event": "sent",
  }),
  slack: ({ body, seconds, keys }) => ({
    "x-slack-signature": `v0=${hexHmac(keys.secret, `v0:${seconds}:${body}`)}`,
    "x-slack-request-timestamp": String(seconds),
  }),
  shopify: ({ body, id, keys }) => ({
    "x-shopify-hmac-sha256": createHmac("sha256", keys.secret).update(body).digest("base64"),
    "x-shopify-webhook-id": id,
    "x-shopify-topic": "sent",
  }),
  paddle: ({ body, seconds, keys }) => ({
    "paddle-signature": `ts=${seconds};h1=${hexHmac(keys.secret, `${seconds}:${body}`)}`,
  }),
  linear: ({ body, id, keys }) => ({
    "linear-signature": hexHmac(keys.secret, body),
    "linear-delivery": id,
  }),
  discord({ body, seconds, keys }) {
    const key = ed25519(Buffer.from(keys.signingSecret, "hex"));
    return {
      "x-signature-ed25519": signWithNode(null, Buffer.from(seconds + body), key).toString("hex"),
      "x-signature-timestamp": String(seconds),
    };
  },
  sendgrid({ body, seconds, keys }) {
    const key = pkcs8(Buffer.from(keys.signingSecret, "base64"));
    return {
      "x-twilio-email-event-webhook-signature": createSign("sha256")
        .update(seconds + body)
        .sign(key, "base64"),
      "x-twilio-email-event-webhook-timestamp": String(seconds),
    };
  },
};

/** The headers that are not signed, although they are read. */
const unsigned = new Set([
  "x-github-delivery",
  "x-github-event",
  "x-shopify-webhook-id",
  "x-shopify-topic",
  "linear-delivery",
]);

const idOf = fc.stringMatching(/^[!-+\--~]{1,64}$/);
const text = fc.string({ unit: "grapheme", maxLength: 60 });

/** Changes one character to another one of ASCII, which is never the same after the upper case is ignored. */
function changed(value: string, at: number, by: number): string {
  const index = at % value.length;
  const code = value.charCodeAt(index);
  const other = String.fromCharCode(33 + ((code - 33 + by) % 94));
  return value.slice(0, index) + other + value.slice(index + 1);
}

describe.each(Object.entries(official))("%s", (name, signAs) => {
  test("the official signature of any event verifies, and no change of one byte of it does", async () => {
    const one = sender(name as SenderName);
    await fc.assert(
      fc.asyncProperty(
        fc.record({ id: idOf, note: text, seconds: fc.integer({ min: 1, max: 99_999_999_999 }) }),
        fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 93 }), bit: fc.nat(7) }),
        async ({ id, note, seconds }, { at, by, bit }) => {
          const clock = fakeClock();
          clock.jump(seconds * 1_000 - clock.now());
          const keys = await known[one.name].testKeys();
          const body = one
            .body({ at: clock.now(), id })
            .replace("{", () => `{"note":${JSON.stringify(note)},`);
          const headers = await signAs({ body, id, seconds, keys });
          const { receive } = receiving(one.scheme(), { secret: keys.secret, clock });

          const bytes = Buffer.from(body);
          const index = at % bytes.length;
          bytes[index] = (bytes[index] ?? 0) ^ (1 << bit);
          expect(await receive(headers, bytes)).toMatchObject({ code: "signature_mismatch" });

          for (const header of Object.keys(headers).filter((each) => !unsigned.has(each))) {
            const value = headers[header] ?? "";
            const other = changed(value, at, by);
            const isSame =
              /hmac|signature/.test(header) && other.toLowerCase() === value.toLowerCase();
            const isHexOrPair = !/^[^,=]*,|=$/.test(value);
            if (isSame && isHexOrPair) continue;
            const outcome = await receive({ ...headers, [header]: other }, body);
            expect(outcome.code).toMatch(/^signature_(?:mismatch|malformed|stale)$/);
          }
          const outcome = await receive(headers, body);
          expect(outcome).toMatchObject({ code: "processed", type: one.type });
        },
      ),
      { numRuns: sized(40, 1_000) },
    );
  });
});
