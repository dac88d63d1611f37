import { request, type IncomingHttpHeaders } from "node:http";
import { createReceiver } from "@svc-webhooks/core";
import { secret } from "@svc-webhooks/kit/deliveries";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import {
  fixture,
  signedDelivery,
  signedRequest,
  tamper,
  type SignedDelivery,
} from "@svc-webhooks/testing";
import { expect, test } from "vitest";

type Tampered = SignedDelivery | Promise<SignedDelivery>;

const idHeader = "x-svc-delivery-id";

/** The expected response to each kind of tampered delivery, over HTTP. */
const rows: readonly (readonly [string, (delivery: SignedDelivery) => Tampered, number, string])[] =
  [
    ["wrongSecret", tamper.wrongSecret, 401, "signature_mismatch"],
    ["flippedByte", tamper.flippedByte, 401, "signature_mismatch"],
    ["truncated", tamper.truncated, 401, "signature_mismatch"],
    ["reserialized", tamper.reserialized, 401, "signature_mismatch"],
    ["upperCaseHex", tamper.upperCaseHex, 200, "processed"],
    ["missingPrefix", tamper.missingPrefix, 401, "signature_malformed"],
    ["missingHeader", (delivery) => tamper.missingHeader(delivery), 401, "signature_missing"],
    ["missingHeader", (one) => tamper.missingHeader(one, idHeader), 400, "delivery_id_missing"],
    ["duplicateHeader", (one) => tamper.duplicateHeader(one), 401, "signature_malformed"],
    [
      "duplicateHeader",
      (one) => tamper.duplicateHeader(one, idHeader),
      400,
      "delivery_id_malformed",
    ],
    ["twoHeaders", tamper.twoHeaders, 401, "signature_malformed"],
    ["huge", (delivery) => tamper.huge(delivery), 413, "body_too_large"],
    ["notJson", (delivery) => tamper.notJson(delivery), 400, "malformed_body"],
    ["forgedDeliveryId", (delivery) => tamper.forgedDeliveryId(delivery), 200, "processed"],
    ["otherId", (delivery) => tamper.otherId(delivery), 200, "processed"],
  ];

/** Changes of what the service does not sign or send, and why they are refused. */
const others = [
  ["stale", "which does not sign a time"],
  ["future", "which does not sign a time"],
  ["extraSignature", "which sends one signature"],
] as const;

test("the tables have every way to tamper", () => {
  expect(Object.keys(tamper).toSorted()).toEqual(
    [...new Set([...rows, ...others].map(([name]) => name))].toSorted(),
  );
});

test.each(others)("%s refuses a delivery of the service, %s", async (name, why) => {
  await expect(tamper[name](await signedDelivery(fixture("email.sent")))).rejects.toMatchObject({
    code: "invalid_option",
    option: "delivery",
    message: expect.stringContaining(`\`delivery\` comes from the service, ${why}.`) as string,
  });
});

test.each(rows)(
  "a receiver sees what %s has changed, over HTTP",
  async (_name, change, status, code) => {
    const on = { "*": () => {} };
    const port = await listen(webhooks(createReceiver({ secret, on, log: () => {} })));
    const delivery = await signedDelivery(fixture("email.sent"));
    const before = structuredClone(delivery);
    const response = await fetch(`http://127.0.0.1:${port}/`, await change(delivery));
    const text = await response.text();
    expect([response.status, text]).toEqual([status, expect.stringContaining(`"${code}"`)]);
    expect(delivery).toEqual(before);
  },
);

test("each changes the delivery, and only what it names", async () => {
  const delivery = await signedDelivery(fixture("email.sent"));
  for (const [name, change] of rows) {
    const { headers, body } = await change(delivery);
    const isResigned = name === "huge" || name === "notJson";
    const keepsBody = /Secret|Hex|Prefix|Header|Id$/.test(name);
    expect([name, Buffer.compare(body, delivery.body) === 0]).toEqual([name, keepsBody]);
    const isSame = JSON.stringify(headers) === JSON.stringify(delivery.headers);
    expect([name, isSame]).toEqual([name, !keepsBody && !isResigned]);
  }
});

const promised = signedDelivery(fixture("email.sent"));
const signed = await promised;

test.each([
  ["a promise", promised],
  ["a Request", await signedRequest(fixture("email.sent"))],
  ["undefined", undefined],
  ["null", null],
  ["an object", { ...signed, body: "{}" }],
  ["an object", { body: signed.body }],
  ["a string", "{}"],
])("every way to tamper refuses %s in place of a delivery", async (kind, delivery) => {
  for (const [, change] of rows) {
    // `attempt` is async because some `tamper` functions throw and others reject.
    const attempt = async () => change(delivery as never);
    await expect(attempt()).rejects.toMatchObject({
      name: "ConfigError",
      code: "invalid_option",
      option: "delivery",
      message: expect.stringContaining(
        `\`delivery\` is ${kind}, not a signed delivery: await signedDelivery(…) first`,
      ) as string,
    });
  }
});

test.each(["wrongSecret", "twoHeaders", "extraSignature", "stale", "huge", "notJson"] as const)(
  "%s, which returns a promise, rejects and does not throw",
  async (name) => {
    await expect(tamper[name](undefined as never)).rejects.toThrow("`delivery` is undefined");
  },
);

test.each(["huge", "notJson"] as const)("%s accepts null in place of options", async (name) => {
  const delivery = await signedDelivery(fixture("email.sent"));
  expect(await tamper[name](delivery, null as never)).toEqual(await tamper[name](delivery));
});

test("forgedDeliveryId replaces both headers with the id", async () => {
  const delivery = await signedDelivery(fixture("email.sent"));
  for (const [forged, id] of [
    [tamper.forgedDeliveryId(delivery), "dlv_forged"],
    [tamper.forgedDeliveryId(delivery, "dlv_2"), "dlv_2"],
  ] as const) {
    expect(forged.headers).toEqual({
      ...delivery.headers,
      [idHeader]: id,
      "idempotency-key": id,
    });
  }
});

test("flippedByte and truncated change a body by one bit and by one byte", async () => {
  const delivery = await signedDelivery("abcd");
  expect(Buffer.from(tamper.flippedByte(delivery).body).toString()).toBe("abbd");
  expect(Buffer.from(tamper.truncated(delivery).body).toString()).toBe("abc");
  expect(tamper.flippedByte(await signedDelivery("")).body).toHaveLength(1);
});

test.each([
  ['{ "a": 1.0 }', '{"a":1}'],
  ['{"a":1}', '{\n  "a": 1\n}\n'],
  ["{}", "{}\n"],
])("reserialized makes other bytes of %s", async (body, expected) => {
  const delivery = await signedDelivery(body);
  expect(Buffer.from(tamper.reserialized(delivery).body).toString()).toBe(expected);
});

test("what is signed again is signed by the given secret", async () => {
  const receiver = createReceiver({ secret: "whsec_own", on: { "*": () => {} }, log: () => {} });
  const own = await signedDelivery(fixture("email.sent"), { secret: "whsec_own" });
  const signing = { secret: "whsec_own" };
  for (const [tampered, code] of [
    [tamper.notJson(own), "signature_mismatch"],
    [tamper.notJson(own, signing), "malformed_body"],
    [tamper.huge(own, { ...signing, bytes: 1_000 }), "processed"],
    [tamper.wrongSecret(own, "whsec_own"), "duplicate"],
  ] as const) {
    const delivery = await tampered;
    const headers = { ...delivery.headers, [idHeader]: "dlv_1" };
    expect((await receiver.receive({ ...delivery, headers })).code).toBe(code);
  }
});

test("duplicateHeader is what a server reads from two lines", async () => {
  const seen: IncomingHttpHeaders[] = [];
  const port = await listen(({ headers }, response) => {
    seen.push(headers);
    response.end();
  });
  const delivery = await signedDelivery(fixture("email.sent"));
  const signature = delivery.headers["x-svc-signature"] ?? "";
  const twoLines = { ...delivery.headers, "x-svc-signature": [signature, signature] };
  for (const headers of [tamper.duplicateHeader(delivery).headers, twoLines]) {
    await new Promise((resolve, reject) => {
      const outgoing = request({ port, host: "127.0.0.1", method: "POST", headers });
      outgoing.on("response", (response) => resolve(response.resume()));
      outgoing.on("error", reject);
      outgoing.end();
    });
  }
  const [joined, lines] = seen.map((headers) => headers["x-svc-signature"]);
  expect(joined).toBe(`${signature}, ${signature}`);
  expect(lines).toBe(joined);
});
