import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hmac, type HmacOptions } from "../src/index.js";
import { hmacSigner } from "../src/sign.js";
import { receiving, withHeader } from "./support.js";

const secret = "c2VjcmV0IG9mIGFjbWU=";

/** The option sets of senders that sign in different ways, with what node:crypto computes for them. */
const variants: readonly [string, HmacOptions, (body: string, time: string) => string][] = [
  [
    "hex after a prefix",
    { name: "typeform", header: "Typeform-Signature", prefix: "sha256=", encoding: "hex" },
    (body) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  ],
  [
    "base64 with a base64 key",
    { name: "woo", header: "x-wc-webhook-signature", encoding: "base64", key: "base64" },
    (body) => createHmac("sha256", Buffer.from(secret, "base64")).update(body).digest("base64"),
  ],
  ...(["SHA-1", "SHA-384", "SHA-512"] as const).map(
    (hash): [string, HmacOptions, (body: string) => string] => [
      `another hash: ${hash}`,
      { name: "acme", header: "x-acme", encoding: "hex", hash },
      (body) => createHmac(hash.replace("-", ""), secret).update(body).digest("hex"),
    ],
  ),
  [
    "a time in seconds",
    {
      name: "acme",
      header: "x-acme",
      encoding: "hex",
      timestamp: { header: "x-time", unit: "s" },
      before: (time) => `v1.${time}.`,
    },
    (body, time) =>
      createHmac("sha256", secret)
        .update(`v1.${time.slice(0, 10)}.${body}`)
        .digest("hex"),
  ],
  [
    "a time in milliseconds",
    {
      name: "acme",
      header: "x-acme",
      encoding: "base64",
      timestamp: { header: "x-time", unit: "ms" },
      before: (time) => time,
    },
    (body, time) =>
      createHmac("sha256", secret)
        .update(time + body)
        .digest("base64"),
  ],
];

describe.each(variants)("%s", (_what, options, expected) => {
  test("is what the signer makes and what the receiver accepts once", async () => {
    const { receive, clock } = receiving(hmac(options), { secret });
    const body = '{"type":"sent"}';
    const headers = await hmacSigner(options)(body, { secret, at: clock.now() });
    const header = options.header.toLowerCase();
    expect(headers[header]).toBe(expected(body, String(clock.now())));
    expect(await receive(headers, body)).toMatchObject({ code: "processed", type: "sent" });
    expect(await receive(headers, body)).toMatchObject({ code: "duplicate" });
    expect(await receive(headers, `${body} `)).toMatchObject({ code: "signature_mismatch" });
    const cut = withHeader(headers, header, (value) => value.slice(0, -2));
    expect(await receive(cut, body)).toMatchObject({ code: "signature_malformed" });
  });
});

test.each(variants.filter(([, { timestamp }]) => timestamp))(
  "%s: refuses a stale time and a time that is not digits",
  async (_what, options) => {
    const { receive, clock } = receiving(hmac(options), { secret });
    const headers = await hmacSigner(options)("{}", { secret, at: clock.now() });
    for (const text of ["", "1e3", "-1", "1 ", "1".repeat(15)]) {
      const changed = withHeader(headers, "x-time", () => text);
      expect(await receive(changed, "{}")).toMatchObject({ code: "signature_malformed" });
    }
    clock.jump(300_001);
    expect(await receive(headers, "{}")).toMatchObject({ code: "signature_stale" });
  },
);

describe("ids and types", () => {
  const base: HmacOptions = { name: "acme", header: "x-acme", encoding: "hex" };

  test("come from headers, whatever the case of their names", async () => {
    const options: HmacOptions = { ...base, id: "X-Acme-Id", type: "X-Acme-Type" };
    const { receive, clock } = receiving(hmac(options), { secret });
    const headers = await hmacSigner(options)("{}", {
      secret,
      at: clock.now(),
      deliveryId: "dlv_1",
      type: "sent",
    });
    const outcome = await receive(headers, "{}");
    expect(outcome).toMatchObject({ code: "processed", deliveryId: "dlv_1", type: "sent" });
    expect(outcome.eventId).toBeUndefined();
  });

  test.each(["sent, sent", "sent,sent"])(
    "a header with the type that a proxy has doubled is refused: %s",
    async (doubled) => {
      const options: HmacOptions = { ...base, id: "X-Acme-Id", type: "X-Acme-Type" };
      const { receive } = receiving(hmac(options), { secret });
      const headers = await hmacSigner(options)("{}", {
        secret,
        deliveryId: "dlv_1",
        type: "sent",
      });
      const changed = withHeader(headers, "x-acme-type", () => doubled);
      expect(await receive(changed, "{}")).toMatchObject({ code: "event_untyped", status: 500 });
      expect(await receive(headers, "{}")).toMatchObject({ code: "processed" });
    },
  );

  test("come from the signed body, and then the event id is signed", async () => {
    const options: HmacOptions = {
      ...base,
      id: (body) => body["number"] as string,
      type: (body) => body["kind"] as string,
    };
    const { receive } = receiving(hmac(options), { secret });
    const body = '{"number":"7","kind":"sent"}';
    const headers = await hmacSigner(options)(body, { secret });
    expect(await receive(headers, body)).toMatchObject({
      code: "processed",
      deliveryId: "7",
      eventId: "7",
      eventIdSigned: true,
      type: "sent",
    });
    const without = await hmacSigner(options)("{}", { secret });
    expect(await receive(without, "{}")).toMatchObject({ code: "delivery_id_missing" });
  });
});
