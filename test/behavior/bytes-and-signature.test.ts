import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { gzipSync } from "node:zlib";
import { createReceiver, sign, verify, type SecretSource } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import fc from "fast-check";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver, recordedStore } from "@svc-webhooks/kit/receivers";
import { listen } from "@svc-webhooks/kit/servers";

// The adapter contract covers adapters that change bytes or headers, over HTTP.

const signature = await sign(eventBody(), secret);
const digits = signature.slice("sha256=".length);
const nested = "[".repeat(50_000) + "]".repeat(50_000);
const marked = `\uFEFF${eventBody()}`;
const invalidUtf8 = Buffer.from(`{"type":"email.sent","subject":"\xc3\x28\xff"}`, "latin1");

/** Builds a delivery with this signature header instead of a genuine one. */
const carrying = (value: string | readonly string[], body: string | Uint8Array = eventBody()) =>
  Promise.resolve(unsigned<string | readonly string[]>(body, { "x-svc-signature": value }));

afterEach(() => void vi.unstubAllEnvs());

test("trap 1: a byte order mark is part of the signed bytes, but not of the event", async () => {
  const { receive } = observedReceiver();
  expect(await receive(signed(marked))).toMatchObject({ code: "processed", type: "email.sent" });
  expect(await receive(carrying(signature, marked))).toMatchObject({ code: "signature_mismatch" });
});

test("trap 1: bytes that are not UTF-8 match their signature and are rejected, not replaced", async () => {
  const { receiveAll } = observedReceiver();
  // A receiver that decodes the body lossily would accept this signature.
  const lossy = await sign(invalidUtf8.toString(), secret);
  expect(await receiveAll(signed(invalidUtf8), carrying(lossy, invalidUtf8))).toEqual([
    "malformed_body",
    "signature_mismatch",
  ]);
});

test("trap 2: a body full of replacement patterns is verified and passed on unchanged", async () => {
  const subject = "$& $$ $` $' $1 $<name>";
  const subjects: unknown[] = [];
  const on = { "*": (event: object) => subjects.push(Reflect.get(event, "subject")) };
  const { receiveAll } = observedReceiver({ on });
  expect(await receiveAll(signed(eventBody("email.sent", { subject })))).toEqual(["processed"]);
  expect(subjects).toEqual([subject]);
});

test.each([
  `"n":1.0`,
  `"n":1e3`,
  String.raw`"s":"\u00e9"`,
  String.raw`"s":"a\/b"`,
  `"s": "spaces" `,
  `"n":1,"n":2`,
  `"b":1,"2":2,"1":1`,
  `"n":12345678901234567890`,
  `"n":-0`,
])("trap 3: %s is verified as it was sent, and not as JSON.stringify writes it", async (field) => {
  const body = `{"type":"email.sent",${field}}`;
  const rewritten = JSON.stringify(JSON.parse(body));
  expect(rewritten).not.toBe(body);
  const { receiveAll } = observedReceiver();
  expect(await receiveAll(carrying(await sign(body, secret), rewritten), signed(body))).toEqual([
    "signature_mismatch",
    "processed",
  ]);
});

test("trap 3: any bytes match their own signature and not that of other bytes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), fc.uint8Array(), async (bytes, others) => {
      const own = await sign(bytes, secret);
      expect(await verify(bytes, own, secret)).toEqual({ ok: true, secretId: "default" });
      fc.pre(Buffer.compare(bytes, others) !== 0);
      expect(await verify(others, own, secret)).toMatchObject({ code: "signature_mismatch" });
    }),
  );
});

test.each([
  "sha256=",
  digits,
  ` ${signature}`,
  `${signature} `,
  `${signature}\n`,
  `${signature}00`,
  signature.slice(0, -1),
  signature.slice(0, -2),
  `${signature.slice(0, -2)}zz`,
  `${signature.slice(0, -1)}g`,
  `sha256=0x${digits.slice(2)}`,
  `sha256= ${digits.slice(1)}`,
  `sha1=${digits.slice(0, 40)}`,
  `sha256=${Buffer.from(digits, "hex").toString("base64")}`,
  `v1,${signature}`,
])("trap 4: the signature %j is malformed, even if a lenient decoder accepts it", async (value) => {
  const { receiveAll, internalErrors } = observedReceiver();
  expect(await receiveAll(carrying(value))).toEqual(["signature_malformed"]);
  expect(await verify(eventBody(), value, secret)).toMatchObject({ code: "signature_malformed" });
  expect(internalErrors).toEqual([]);
});

test("trap 5: a signature's digits may be upper case, but not its prefix", async () => {
  const { receiveAll } = observedReceiver();
  const upper = `sha256=${digits.toUpperCase()}`;
  expect(
    await receiveAll(
      carrying(upper),
      carrying(signature.replace("sha", "SHA")),
      carrying(signature.toUpperCase()),
    ),
  ).toEqual(["processed", "signature_malformed", "signature_malformed"]);
});

test.each([
  ["both are equal and valid", [signature, signature]],
  ["the first one is valid", [signature, forgedSignature]],
  ["the second one is valid", [forgedSignature, signature]],
])("trap 6: two signatures are rejected, even if %s", async (_which, values) => {
  const { receiveAll } = observedReceiver();
  const joined = values.join(", ");
  expect(await receiveAll(carrying(values), carrying(joined))).toEqual([
    "signature_malformed",
    "signature_malformed",
  ]);
});

test.each(["dlv_1", "dlv_2", ""])(
  "trap 6: dlv_1 and %j as delivery ids are rejected",
  async (id) => {
    const { receiveAll } = observedReceiver();
    const list = signed(eventBody(), { "x-svc-delivery-id": ["dlv_1", id] });
    const joined = signed(eventBody(), { "x-svc-delivery-id": `dlv_1, ${id}` });
    expect(await receiveAll(list, joined)).toEqual([
      "delivery_id_malformed",
      "delivery_id_malformed",
    ]);
  },
);

test.for<[string, SecretSource]>([
  ["no text", ""],
  ["a space", " "],
  ["a line break", "\n"],
  ["no bytes", new Uint8Array()],
  ["no key", []],
  ["a key without text", [{ id: "a", key: "" }]],
])("trap 7: a secret of %s is rejected when the receiver is created", ([, empty]) => {
  expect(() => createReceiver({ secret: empty, on: { "*": () => {} } })).toThrow(
    expect.objectContaining({ name: "ConfigError", code: "invalid_secret" }) as Error,
  );
});

test("trap 7: an empty secret returned by a function verifies nothing", async () => {
  const { receiveAll } = observedReceiver({ secret: () => "" });
  const forged = crypto.createHmac("sha256", "").update(eventBody()).digest("hex");
  expect(await receiveAll(carrying(`sha256=${forged}`))).toEqual(["misconfigured"]);
});

describe("trap 8: with three active keys", () => {
  const keys = ["whsec_first", "whsec_second", "whsec_third"];
  const rotating = { secret: keys.map((key) => ({ id: key, key })) };

  test.each([...keys, "whsec_unknown"])("each is compared with a signature by %s", async (key) => {
    const compare = vi.spyOn(crypto, "timingSafeEqual");
    syncBuiltinESMExports();
    onTestFinished(() => {
      compare.mockRestore();
      syncBuiltinESMExports();
    });
    await observedReceiver(rotating).receive(signed(eventBody(), {}, key));
    expect(compare).toHaveBeenCalledTimes(3);
  });

  test("a response does not reveal how many keys exist or which one matched", async () => {
    const several = await listen(webhooks(observedReceiver(rotating).receiver));
    const single = await listen(webhooks(observedReceiver({ secret: "whsec_first" }).receiver));
    const responseTo = async (port: number, key: string) => {
      const delivery = await signed(eventBody(), { "x-svc-delivery-id": `dlv_${key}` }, key);
      const reply = await send(port, delivery);
      return { ...reply, headers: { ...reply.headers, date: "" } };
    };
    const first = await responseTo(several, "whsec_first");
    expect(first.code).toBe("processed");
    expect(await responseTo(several, "whsec_third")).toEqual(first);
    const rejected = await responseTo(several, "whsec_unknown");
    expect(await responseTo(single, "whsec_unknown")).toEqual(rejected);
  });
});

test.each(["compressed", "decompressed"])(
  "trap 9: a compressed body is rejected, even with a signature of its %s bytes",
  async (covered) => {
    const compressed = gzipSync(eventBody());
    const matching = await sign(covered === "compressed" ? compressed : eventBody(), secret);
    const headers = { "content-encoding": "gzip", "x-svc-signature": matching };
    const { receive } = observedReceiver();
    const outcome = await receive(Promise.resolve(unsigned(compressed, headers)));
    expect(outcome).toMatchObject({ code: "encoding_unsupported", status: 415 });
  },
);

test.each(["development", "test", "production", ""])(
  "trap 10: no environment variable and no field of a request turns verification off, NODE_ENV=%s",
  async (mode) => {
    vi.stubEnv("NODE_ENV", mode);
    vi.stubEnv("SKIP_SIGNATURE_VERIFICATION", "true");
    vi.stubEnv("WEBHOOKS_DEV", "1");
    vi.stubEnv("DEBUG", "*");
    const { receiveAll } = observedReceiver();
    const body = eventBody("email.sent", { test: true, livemode: false, skip_verification: true });
    const headers = { host: "localhost", "x-svc-test": "true", "x-forwarded-for": "127.0.0.1" };
    const forged = { ...headers, "x-svc-signature": forgedSignature };
    expect(await receiveAll(unsigned(body, headers), unsigned(body, forged))).toEqual([
      "signature_missing",
      "signature_mismatch",
    ]);
  },
);

test("trap 11: no part of a body is parsed before it is verified", async () => {
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const eventType = vi.fn<() => string>(() => "email.sent");
  const { store, calls } = recordedStore();
  const { receiveAll } = observedReceiver({ eventType, store });

  const bodies = [eventBody(), "{", "", invalidUtf8];
  const codes = await receiveAll(...bodies.map((body) => carrying(forgedSignature, body)));
  expect(new Set(codes)).toEqual(new Set(["signature_mismatch"]));
  expect(parse).not.toHaveBeenCalled();
  expect(eventType).not.toHaveBeenCalled();
  expect(calls).toEqual([]);

  await receiveAll(signed());
  expect(parse).toHaveBeenCalledTimes(1);
});

test.each([
  ["nothing", ""],
  ["a space", " "],
  ["null", "null"],
  ["a list", "[]"],
  ["a string", `"x"`],
  ["a number", "1"],
  ["a boolean", "true"],
  ["half an object", "{"],
  ["a zero byte", "\0"],
  ["50,000 nested arrays", nested],
])("trap 12: a signed body of %s gets 400 without an internal error", async (_what, body) => {
  const { receive, internalErrors } = observedReceiver();
  expect(await receive(signed(body))).toMatchObject({ code: "malformed_body", status: 400 });
  expect(internalErrors).toEqual([]);
});

test("trap 12: an event with 50,000 nested arrays is handled like any other", async () => {
  const { receiveAll } = observedReceiver();
  const body = `{"type":"email.sent","data":${nested}}`;
  expect(await receiveAll(signed(body))).toEqual(["processed"]);
});
