import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { describe, expect, test } from "vitest";
import type { DeliveryHeaders, HeaderValue, StoredDelivery } from "../src/index.js";
import { observed, send } from "./support.js";

test.each([
  ["content-encoding", "", "processed"],
  ["content-encoding", "identity", "processed"],
  ["content-encoding", " Identity ", "processed"],
  ["content-encoding", "IDENTITY", "processed"],
  ["content-encoding", "gzip", "encoding_unsupported"],
  ["content-encoding", "br", "encoding_unsupported"],
  ["content-encoding", "identity, gzip", "encoding_unsupported"],
  ["content-encoding", "UTF-8", "processed"],
  ["content-encoding", "utf8", "processed"],
  ["content-encoding", "None", "processed"],
  ["content-encoding", "7bit", "processed"],
  ["content-encoding", "8BIT", "processed"],
  ["content-encoding", "binary", "processed"],
  ["content-encoding", "utf-16", "encoding_unsupported"],
  ["content-encoding", "aws-chunked", "encoding_unsupported"],
  ["content-encoding", "utf-8, gzip", "encoding_unsupported"],
  ["x-svc-delivery-id", "!", "processed"],
  ["x-svc-delivery-id", "~", "processed"],
  ["x-svc-delivery-id", "dlv_1", "processed"],
  ["x-svc-delivery-id", "a".repeat(256), "processed"],
  ["x-svc-delivery-id", "a".repeat(257), "delivery_id_malformed"],
  ["x-svc-delivery-id", "a b", "delivery_id_malformed"],
  ["x-svc-delivery-id", "a,b", "delivery_id_malformed"],
  ["x-svc-delivery-id", "dlv_1, dlv_1", "delivery_id_malformed"],
  ["x-svc-delivery-id", "\u00e9", "delivery_id_malformed"],
  ["x-svc-delivery-id", "a\u007f", "delivery_id_malformed"],
  ["x-svc-delivery-id", " a", "delivery_id_malformed"],
  ["x-svc-delivery-id", "a ", "delivery_id_malformed"],
])("a delivery with %s %j ends as %s", async (name, value, code) => {
  const { receiver } = observed();
  expect((await send(receiver, undefined, { [name]: value })).code).toBe(code);
});

test.each([
  ["dlv_1", []],
  ['"dlv_1"', []],
  ["dlv_2", ["id_mismatch"]],
  ['""dlv_1""', ["id_mismatch"]],
])("with an Idempotency-Key of %s, delivery dlv_1 has the warnings %j", async (key, warnings) => {
  const { receiver } = observed();
  const outcome = await send(receiver, undefined, { "idempotency-key": key });
  expect(outcome).toMatchObject({ code: "processed", warnings });
});

type Headers = StoredDelivery["headers"];

const upper = (name: string) => name.toUpperCase();
const mapped = (
  headers: Headers,
  change: (entry: [string, string | undefined]) => [string, HeaderValue],
) => Object.fromEntries(Object.entries(headers).map(change));
const empty = (headers: Headers) => mapped(headers, ([name]) => [upper(name), undefined]);

describe.each([
  ["x-svc-signature", "signature_malformed"],
  ["x-svc-delivery-id", "delivery_id_malformed"],
])("two values of %s", (name, code) => {
  test.each<[string, (headers: Headers, value: HeaderValue) => DeliveryHeaders]>([
    ["in two letter cases", (headers, value) => ({ ...headers, [upper(name)]: value })],
    ["in two letter cases, reversed", (headers, value) => ({ [upper(name)]: value, ...headers })],
    ["in a list", (headers, value) => ({ ...headers, [name]: [String(value), String(value)] })],
  ])("%s are malformed", async (_, given) => {
    const { receiver } = observed();
    const delivery = await signed();
    const headers = given(delivery.headers, delivery.headers[name]);
    expect((await receiver.receive({ ...delivery, headers })).code).toBe(code);
  });
});

test.each<[string, (headers: Headers) => DeliveryHeaders]>([
  ["a look-up by lower-case name", (headers) => (name) => headers[name]],
  ["lists of one value", (headers) => mapped(headers, ([name, value = ""]) => [name, [value]])],
  ["names of any case", (headers) => mapped(headers, ([name, value]) => [upper(name), value])],
  ["an empty value in another case first", (headers) => ({ ...empty(headers), ...headers })],
  ["an empty value in another case last", (headers) => ({ ...headers, ...empty(headers) })],
])("headers are accepted as %s", async (_, given) => {
  const { receiver } = observed();
  const delivery = await signed();
  const outcome = await receiver.receive({ ...delivery, headers: given(delivery.headers) });
  expect(outcome).toMatchObject({ code: "processed", deliveryId: "dlv_1" });
  expect(outcome.eventId).toBeUndefined();
});

const odd: Readonly<Record<string, HeaderValue>> = {
  "content-length": 20,
  "x-svc-attempt": [1],
  "x-number": 0,
  "x-boolean": false,
  "x-null": null,
  "content-encoding": null,
};

test.each<[string, (headers: Headers) => DeliveryHeaders]>([
  ["a record", (headers) => ({ ...headers, ...odd })],
  ["a look-up", (headers) => (name) => ({ ...headers, ...odd })[name]],
])("numbers, booleans and null are accepted as headers in %s", async (_, given) => {
  const { receiver } = observed({
    on: { "*": (_event, { attempt }) => void attempts.push(attempt) },
  });
  const attempts: unknown[] = [];
  const delivery = await signed();
  const headers = given(delivery.headers);
  expect((await receiver.receive({ ...delivery, headers })).code).toBe("processed");
  expect(attempts).toEqual([1]);
});

test("a number as a Content-Length is compared with the limit", async () => {
  const { receiver } = observed({ maxBodyBytes: 100 });
  const { headers, ...delivery } = await signed();
  const length = { ...headers, "content-length": 101 };
  expect((await receiver.receive({ ...delivery, headers: length })).code).toBe("body_too_large");
});

test.each<[string, unknown]>([
  ["null", null],
  ["undefined", undefined],
  ["an empty record", {}],
  ["a look-up of nothing", () => null],
])("headers that are %s are no headers", async (_, headers) => {
  const { receiver } = observed();
  const outcome = await receiver.receive({ ...(await signed()), headers: headers as never });
  expect(outcome).toMatchObject({ status: 401, code: "signature_missing" });
});

/** Encodes each character as one byte. */
const bytes = (text: string) => Buffer.from(text, "latin1");

const bom = "\xef\xbb\xbf";

test.each([
  ["that is not UTF-8", "malformed_body", bytes('{"type":"a","x":"\xc3\x28"}')],
  ["cut inside a character", "malformed_body", bytes('{"type":"\xe2\x82')],
  ["with one byte order mark", "processed", bytes(bom + eventBody())],
  ["with two byte order marks", "malformed_body", bytes(bom + bom + eventBody())],
  ["of null", "malformed_body", "null"],
  ["of a list", "malformed_body", "[]"],
  ["of text", "malformed_body", '"x"'],
  ["that is empty", "malformed_body", ""],
])("a signed body %s ends as %s", async (_, code, body) => {
  const { receiver } = observed();
  expect((await send(receiver, body)).code).toBe(code);
});

test.each([
  ["email.", "ignored"],
  ["email", "ignored"],
  ["email.x", "processed"],
  ["email.*", "processed"],
])("with only a handler for email.*, an event of type %s ends as %s", async (type, code) => {
  const { receiver } = observed({ on: { "email.*": () => {} } });
  expect((await send(receiver, eventBody(type))).code).toBe(code);
});
