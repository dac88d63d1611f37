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

describe("a sender that lists a signature for each active secret", () => {
  const pagerduty = {
    name: "pagerduty",
    header: "x-pagerduty-signature",
    prefix: "v1=",
    separator: ",",
    encoding: "hex",
  } as const;
  const coral = { ...pagerduty, header: "x-coral-signature", prefix: "sha256=" };
  const body = '{"type":"sent"}';
  const hex = (key: string) => createHmac("sha256", key).update(body).digest("hex");

  const codeOf = async (options: HmacOptions, value: string) => {
    const { receive } = receiving(hmac(options), { secret });
    return (await receive({ [options.header]: value }, body)).code;
  };

  const known = hex(secret);
  const other = hex("another secret");
  const wide = [other, other, other, other, known].map((one) => `v1=${one}`).join(",");

  test.each([
    ["one", pagerduty, `v1=${known}`],
    ["the new one first", pagerduty, `v1=${known},v1=${other}`],
    ["the old one first", pagerduty, `v1=${other},v1=${known}`],
    ["five", pagerduty, wide],
    ["another version", pagerduty, `v2=${other},v1=${known},t=1`],
    ["another prefix", coral, `sha256=${other},sha256=${known}`],
    ["no prefix", { ...pagerduty, prefix: undefined }, `${other},${known}`],
    ["a space between them", { ...pagerduty, separator: " " }, `v1=${other} v1=${known}`],
  ] as const)("is accepted with %s", async (_what, options, value) => {
    expect(await codeOf(options, value)).toBe("processed");
  });

  test.each([
    ["two wrong ones", `v1=${other},v1=${other}`, "signature_mismatch"],
    ["six", `${wide},v1=${known}`, "signature_malformed"],
    ["two headers", `v1=${known}, v1=${known}`, "signature_malformed"],
    ["only another version", `v2=${known}`, "signature_malformed"],
    ["a cut one next to a right one", `v1=${known},v1=${other.slice(1)}`, "signature_malformed"],
    ["an empty part", `v1=${known},`, "signature_malformed"],
    ["nothing", "", "signature_missing"],
  ])("is refused with %s", async (_what, value, code) => {
    expect(await codeOf(pagerduty, value)).toBe(code);
  });

  test("has no doubled header, although a space separates its signatures", async () => {
    const options: HmacOptions = { ...pagerduty, separator: " " };
    expect(await codeOf(options, `v1=${known}, v1=${known}`)).toBe("signature_malformed");
  });

  test("needs the separator: without it, a list is malformed", async () => {
    const options = { ...pagerduty, separator: undefined };
    expect(await codeOf(options, `v1=${known},v1=${known}`)).toBe("signature_malformed");
    expect(await codeOf(options, `v1=${known}`)).toBe("processed");
  });

  test("has one signature from the signer", async () => {
    expect(await hmacSigner(pagerduty)(body, { secret })).toEqual({
      "x-pagerduty-signature": `v1=${known}`,
    });
  });
});

describe("a sender whose bodies are lists", () => {
  const intuit: HmacOptions = {
    name: "intuit",
    header: "intuit-signature",
    encoding: "base64",
    list: "events",
  };
  const event = { specversion: "1.0", id: "88cd52aa", type: "qbo.customer.created.v1" };

  const send = async (options: HmacOptions, body: string) => {
    const world = receiving(hmac(options), { secret });
    const headers = await hmacSigner(options)(body, { secret });
    return { outcome: await world.receive(headers, body), events: world.events };
  };

  test.each([[[event]], [[event, { ...event, id: "99" }]], [[]]])(
    "is handled as one event: %j",
    async (list) => {
      const { outcome, events } = await send(intuit, JSON.stringify(list));
      expect(outcome).toMatchObject({ code: "processed", type: "events" });
      expect(events).toEqual([{ type: "events", events: list }]);
    },
  );

  test("may also send objects", async () => {
    const { outcome, events } = await send(intuit, JSON.stringify(event));
    expect(outcome).toMatchObject({ code: "processed", type: event.type });
    expect(events).toEqual([event]);
  });

  test("has its id, its type and its tests read from the event", async () => {
    const first = ({ events }: Readonly<Record<string, unknown>>) =>
      (events as readonly { id?: string; type?: string; test?: string }[])[0];
    const options: HmacOptions = {
      ...intuit,
      id: (body) => first(body)?.id,
      type: (body) => first(body)?.type,
      handshake: (body) => (first(body)?.test ? { test: first(body)?.test } : undefined),
    };
    const { outcome, events } = await send(options, JSON.stringify([event]));
    expect(outcome).toMatchObject({
      code: "processed",
      deliveryId: event.id,
      eventId: event.id,
      type: event.type,
    });
    expect(events).toEqual([{ type: event.type, events: [event] }]);
    expect((await send(options, '[{"test":"1"}]')).outcome).toMatchObject({ code: "handshake" });
  });

  test("needs the option: without it, a list is not an event", async () => {
    const { outcome } = await send({ ...intuit, list: undefined }, JSON.stringify([event]));
    expect(outcome).toMatchObject({ code: "malformed_body" });
  });

  test.each(["null", "7", '"text"', "", "[", "[1]\ud800", "a=b"])(
    "is not one whose body is %j",
    async (body) => {
      expect((await send(intuit, body)).outcome).toMatchObject({ code: "malformed_body" });
    },
  );
});

test.each([",", ";", " "] as const)(
  "a malformed list is refused with its separator %j",
  (separator) => {
    const options = { name: "acme", header: "x-acme", prefix: "v1=", encoding: "hex" } as const;
    expect(hmac({ ...options, separator }).form).toBe(
      `v1=<64 hex digits>, or several, with only "${separator}" between`,
    );
    expect(hmac(options).form).toBe("v1=<64 hex digits>");
  },
);
