import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { describe, expect, test } from "vitest";
import type { DeliveryHeaders, HeaderValue, StoredDelivery } from "../src/index.js";
import { observed, send } from "./support.js";

const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === "string" ? [...new TextEncoder().encode(part)] : part,
    ),
  );

describe("a Content-Encoding", () => {
  test.each(["", "identity", " Identity ", "IDENTITY"])("of %j is accepted", async (encoding) => {
    const { receiver } = observed();
    const { code } = await send(receiver, undefined, { "content-encoding": encoding });
    expect(code).toBe("processed");
  });

  test.each(["gzip", "br", "identity, gzip", "none"])("of %j is refused", async (encoding) => {
    const { receiver } = observed();
    const { code } = await send(receiver, undefined, { "content-encoding": encoding });
    expect(code).toBe("encoding_unsupported");
  });
});

describe("a delivery id", () => {
  test.each(["!", "~", "dlv_1", "a".repeat(256)])("%j is accepted", async (id) => {
    const { receiver } = observed();
    const { code } = await send(receiver, undefined, { "x-svc-delivery-id": id });
    expect(code).toBe("processed");
  });

  test.each(["a b", "a,b", "dlv_1, dlv_1", "\u00e9", "a\u007f", " a", "a ", "a".repeat(257)])(
    "%j is refused as malformed",
    async (id) => {
      const { receiver } = observed();
      const { code } = await send(receiver, undefined, { "x-svc-delivery-id": id });
      expect(code).toBe("delivery_id_malformed");
    },
  );

  test.each([
    ["dlv_1", []],
    ['"dlv_1"', []],
    ["dlv_2", ["id_mismatch"]],
    ['""dlv_1""', ["id_mismatch"]],
  ])("is compared with the Idempotency-Key %s", async (key, warnings) => {
    const { receiver } = observed();
    const outcome = await send(receiver, undefined, { "idempotency-key": key });
    expect(outcome).toMatchObject({ code: "processed", warnings });
  });
});

describe("headers", () => {
  const twice = [
    ["X-SVC-Signature", "signature_malformed"],
    ["X-SVC-Delivery-Id", "delivery_id_malformed"],
  ] as const;

  test.each(twice)("with %s in two letter cases have two values: %s", async (name, code) => {
    const { receiver } = observed();
    const delivery = await signed();
    const again = { [name]: delivery.headers[name.toLowerCase()] };
    for (const headers of [
      { ...again, ...delivery.headers },
      { ...delivery.headers, ...again },
    ]) {
      expect((await receiver.receive({ ...delivery, headers })).code).toBe(code);
    }
  });

  test.each(twice)("with a list of two values for %s: %s", async (name, code) => {
    const { receiver } = observed();
    const delivery = await signed();
    const value = delivery.headers[name.toLowerCase()] ?? "";
    const headers = { ...delivery.headers, [name.toLowerCase()]: [value, value] };
    expect((await receiver.receive({ ...delivery, headers })).code).toBe(code);
  });

  test.each<[string, (headers: StoredDelivery["headers"]) => DeliveryHeaders]>([
    ["a look-up by lower-case name", (headers) => (name) => headers[name]],
    ["lists of one value", (headers) => mapped(headers, ([name, value = ""]) => [name, [value]])],
    ["names of any case", (headers) => mapped(headers, ([name, value]) => [upper(name), value])],
    ["an empty value in another case first", (headers) => ({ ...empty(headers), ...headers })],
    ["an empty value in another case last", (headers) => ({ ...headers, ...empty(headers) })],
  ])("are accepted as %s", async (_, given) => {
    const { receiver } = observed();
    const delivery = await signed();
    const outcome = await receiver.receive({ ...delivery, headers: given(delivery.headers) });
    expect(outcome).toMatchObject({ code: "processed", deliveryId: "dlv_1" });
    expect(outcome.eventId).toBeUndefined();
  });

  const upper = (name: string) => name.toUpperCase();
  const mapped = (
    headers: StoredDelivery["headers"],
    change: (entry: [string, string | undefined]) => [string, HeaderValue],
  ) => Object.fromEntries(Object.entries(headers).map(change));
  const empty = (headers: StoredDelivery["headers"]) =>
    mapped(headers, ([name]) => [upper(name), undefined]);
});

describe("a signed body", () => {
  test.each([
    ["that is not UTF-8", bytes('{"type":"a","x":"', [0xc3, 0x28], '"}')],
    ["cut inside a character", bytes('{"type":"', [0xe2, 0x82])],
    ["with two byte order marks", bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], eventBody())],
    ["of null", bytes("null")],
    ["of a list", bytes("[]")],
    ["of text", bytes('"x"')],
    ["that is empty", bytes()],
  ])("%s is malformed", async (_, body) => {
    const { receiver } = observed();
    expect((await receiver.receive(await signed(body))).code).toBe("malformed_body");
  });

  test("may start with one byte order mark", async () => {
    const { receiver } = observed();
    const body = bytes([0xef, 0xbb, 0xbf], eventBody());
    expect((await receiver.receive(await signed(body))).code).toBe("processed");
  });
});

test.each([
  ["email.", "ignored"],
  ["email", "ignored"],
  ["email.x", "processed"],
  ["email.*", "processed"],
])("with only a handler for email.*, an event of type %s ends as %s", async (type, code) => {
  const { receiver } = observed({ on: { "email.*": () => {} } });
  expect((await receiver.receive(await signed(eventBody(type)))).code).toBe(code);
});
