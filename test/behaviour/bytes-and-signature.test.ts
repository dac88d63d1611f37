import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { gzipSync } from "node:zlib";
import { createReceiver, ReceiverConfigError, sign, verify } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import fc from "fast-check";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver, recordedStore } from "@svc-webhooks/kit/receivers";
import { listen, platforms } from "@svc-webhooks/kit/servers";

const bom = Buffer.from([0xef, 0xbb, 0xbf]);
const invalidUtf8 = Buffer.concat([
  Buffer.from(`{"type":"email.sent","subject":"`),
  Buffer.from([0xc3, 0x28, 0xff]),
  Buffer.from(`"}`),
]);

afterEach(() => void vi.unstubAllEnvs());

describe.each(platforms)("on $name", ({ mount, parsers }) => {
  test("trap 1: a byte order mark is part of the signed bytes, but not of the event", async () => {
    const types: string[] = [];
    const { receiver } = observedReceiver({ on: { "*": ({ type }) => types.push(type) } });
    const port = await listen(mount(receiver));
    const body = Buffer.concat([bom, Buffer.from(eventBody())]);
    expect(await send(port, await signed(body))).toMatchObject({ code: "processed" });
    expect(types).toEqual(["email.sent"]);

    const headers = { "x-svc-signature": await sign(eventBody(), secret) };
    expect(await send(port, unsigned(body, headers))).toMatchObject({ code: "signature_mismatch" });
  });

  test("trap 1: bytes that are not UTF-8 match their signature and are rejected, not replaced", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    expect(await send(port, await signed(invalidUtf8))).toMatchObject({
      status: 400,
      code: "malformed_body",
    });

    // The text that a lossy decoder would have verified.
    const headers = { "x-svc-signature": await sign(invalidUtf8.toString(), secret) };
    expect(await send(port, unsigned(invalidUtf8, headers))).toMatchObject({
      code: "signature_mismatch",
    });
  });

  test("trap 2: a body full of replacement patterns is verified and passed on unchanged", async () => {
    const subject = "$& $$ $` $' $1 $<name>";
    const subjects: unknown[] = [];
    const { receiver } = observedReceiver({
      on: { "*": (event) => subjects.push(event["subject"]) },
    });
    const port = await listen(mount(receiver));
    const delivery = await signed(eventBody("email.sent", { subject }));
    expect(await send(port, delivery)).toMatchObject({ code: "processed" });
    expect(subjects).toEqual([subject]);
  });

  test("trap 3: a body that JSON.stringify would write differently is verified unchanged", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    for (const [index, field] of unstableJson.entries()) {
      const body = `{"type":"email.sent",${field}}`;
      expect(JSON.stringify(JSON.parse(body))).not.toBe(body);
      const delivery = await signed(body, { "x-svc-delivery-id": `dlv_${index}` });
      const { code } = await send(port, delivery);
      expect({ field, code }).toEqual({ field, code: "processed" });
    }
  });

  test("trap 3: re-serialised JSON is never verified, even if it would match", async () => {
    const { receiver, codes } = observedReceiver();
    const port = await listen(mount(receiver, parsers.json()));
    const body = eventBody();
    expect(JSON.stringify(JSON.parse(body))).toBe(body);
    expect(await send(port, await signed(body))).toMatchObject({ code: "body_unavailable" });
    expect(codes()).toEqual(["body_unavailable"]);
  });

  test("trap 5: a signature's digits may be upper case, but not its prefix", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    const signature = await sign(eventBody(), secret);
    const digits = signature.slice("sha256=".length).toUpperCase();
    const sent = async (value: string) =>
      (await send(port, unsigned(eventBody(), { "x-svc-signature": value }))).code;
    expect(await sent(`sha256=${digits}`)).toBe("processed");
    expect(await sent(`SHA256=${digits}`)).toBe("signature_malformed");
    expect(await sent(signature.toUpperCase())).toBe("signature_malformed");
  });

  test("trap 6: two signatures are rejected, even if both are equal and valid", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    const signature = await sign(eventBody(), secret);
    for (const values of [
      [signature, signature],
      [signature, forgedSignature],
      [forgedSignature, signature],
    ]) {
      const delivery = unsigned(eventBody(), { "x-svc-signature": values });
      expect(await send(port, delivery)).toMatchObject({ code: "signature_malformed" });
    }
  });

  test("trap 6: two delivery ids are rejected, even if they are equal", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    for (const second of ["dlv_1", "dlv_2", ""]) {
      const delivery = await signed(eventBody(), { "x-svc-delivery-id": ["dlv_1", second] });
      expect(await send(port, delivery)).toMatchObject({ code: "delivery_id_malformed" });
    }
  });

  test("trap 9: a compressed body is rejected, whether or not a parser would decompress it", async () => {
    const { receiver } = observedReceiver();
    const inflating = await listen(mount(receiver, parsers.raw({ type: "*/*" })));
    const streaming = await listen(mount(receiver));
    const compressed = gzipSync(eventBody());
    const headers = { "content-encoding": "gzip" };
    for (const port of [inflating, streaming]) {
      for (const covered of [compressed, eventBody()]) {
        const signature = { "x-svc-signature": await sign(covered, secret) };
        const delivery = unsigned(compressed, { ...headers, ...signature });
        expect(await send(port, delivery)).toMatchObject({
          status: 415,
          code: "encoding_unsupported",
        });
      }
    }
  });

  test("trap 12: signed bytes that are not a JSON object get 400 without an internal error", async () => {
    const { receiver, internalErrors } = observedReceiver();
    const port = await listen(mount(receiver));
    const nested = "[".repeat(50_000) + "]".repeat(50_000);
    for (const body of ["", " ", "null", "[]", `"x"`, "1", "true", "{", "\0", nested]) {
      const { status, code } = await send(port, await signed(body));
      const start = body.slice(0, 20);
      expect({ start, status, code }).toEqual({ start, status: 400, code: "malformed_body" });
    }
    expect(internalErrors).toEqual([]);
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });
});

const unstableJson = [
  `"n":1.0`,
  `"n":1e3`,
  String.raw`"s":"\u00e9"`,
  String.raw`"s":"a\/b"`,
  `"s": "spaces" `,
  `"n":1,"n":2`,
  `"b":1,"2":2,"1":1`,
  `"n":12345678901234567890`,
  `"n":-0`,
];

test("trap 3: any bytes match their own signature and not that of other bytes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), fc.uint8Array(), async (bytes, others) => {
      const signature = await sign(bytes, secret);
      expect(await verify(bytes, signature, secret)).toEqual({ ok: true, secretId: "default" });
      fc.pre(Buffer.compare(bytes, others) !== 0);
      expect(await verify(others, signature, secret)).toMatchObject({ code: "signature_mismatch" });
    }),
  );
});

test("trap 3: re-serialised JSON does not match the signature", async () => {
  for (const field of unstableJson) {
    const body = `{"type":"email.sent",${field}}`;
    const signature = await sign(body, secret);
    const rewritten = JSON.stringify(JSON.parse(body));
    expect(await verify(rewritten, signature, secret)).toMatchObject({
      code: "signature_mismatch",
    });
  }
});

test("trap 4: a signature in any other format is malformed, even if a lenient decoder accepts it", async () => {
  const { receiver, internalErrors } = observedReceiver();
  const signature = await sign(eventBody(), secret);
  const digits = signature.slice("sha256=".length);
  for (const value of [
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
  ]) {
    const { code } = await receiver.receive(unsigned(eventBody(), { "x-svc-signature": value }));
    expect({ value, code }).toEqual({ value, code: "signature_malformed" });
    expect(await verify(eventBody(), value, secret)).toMatchObject({ code: "signature_malformed" });
  }
  expect(internalErrors).toEqual([]);
});

test("trap 7: an empty secret is rejected when the receiver is created", () => {
  const empty = ["", " ", "\n", new Uint8Array(), [], [{ id: "a", key: "" }]];
  for (const bad of empty) {
    const build = () => createReceiver({ secret: bad, on: { "*": () => {} } });
    expect(build).toThrow(ReceiverConfigError);
    expect(build).toThrow(expect.objectContaining({ code: "invalid_secret" }) as Error);
  }
});

test("trap 7: an empty secret returned by a function verifies nothing", async () => {
  const { receiver } = observedReceiver({ secret: () => "" });
  const signature = crypto.createHmac("sha256", "").update(eventBody()).digest("hex");
  const forged = unsigned(eventBody(), { "x-svc-signature": `sha256=${signature}` });
  expect((await receiver.receive(forged)).code).toBe("misconfigured");
});

test("trap 8: every active key is compared, regardless of which one matches", async () => {
  const compare = vi.spyOn(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  onTestFinished(() => {
    compare.mockRestore();
    syncBuiltinESMExports();
  });
  const { receiver } = observedReceiver({ secret: threeSecrets });
  for (const key of ["whsec_first", "whsec_second", "whsec_third", "whsec_unknown"]) {
    compare.mockClear();
    await receiver.receive(await signed(eventBody(), {}, key));
    expect({ key, compared: compare.mock.calls.length }).toEqual({ key, compared: 3 });
  }
});

test("trap 8: a response does not reveal how many keys exist or which one matched", async () => {
  const { receiver } = observedReceiver({ secret: threeSecrets });
  const port = await listen(webhooks(receiver));
  const responseTo = async (key: string, id: string) => {
    const reply = await send(port, await signed(eventBody(), { "x-svc-delivery-id": id }, key));
    return { ...reply, headers: { ...reply.headers, date: "" } };
  };
  const single = observedReceiver({ secret: "whsec_first" }).receiver;
  const singlePort = await listen(webhooks(single));

  const first = await responseTo("whsec_first", "dlv_first");
  expect(first.code).toBe("processed");
  expect(await responseTo("whsec_third", "dlv_third")).toEqual(first);
  const rejected = await responseTo("whsec_unknown", "dlv_unknown");
  const alone = await send(singlePort, await signed(eventBody(), {}, "whsec_unknown"));
  expect({ ...alone, headers: { ...alone.headers, date: "" } }).toEqual(rejected);
});

const threeSecrets = [
  { id: "first", key: "whsec_first" },
  { id: "second", key: "whsec_second" },
  { id: "third", key: "whsec_third" },
];

test("trap 10: no environment variable and no field of a request turns verification off", async () => {
  for (const mode of ["development", "test", "production", ""]) {
    vi.stubEnv("NODE_ENV", mode);
    vi.stubEnv("SKIP_SIGNATURE_VERIFICATION", "true");
    vi.stubEnv("WEBHOOKS_DEV", "1");
    vi.stubEnv("DEBUG", "*");
    const { receiver } = observedReceiver();
    const body = eventBody("email.sent", { test: true, livemode: false, skip_verification: true });
    const headers = { host: "localhost", "x-svc-test": "true", "x-forwarded-for": "127.0.0.1" };
    const without = await receiver.receive(unsigned(body, headers));
    expect(without.code).toBe("signature_missing");
    const forged = { ...headers, "x-svc-signature": forgedSignature };
    expect((await receiver.receive(unsigned(body, forged))).code).toBe("signature_mismatch");
  }
});

test("trap 11: no part of a body is parsed before it is verified", async () => {
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const eventType = vi.fn<() => string>(() => "email.sent");
  const { store, calls } = recordedStore();
  const { receiver } = observedReceiver({ eventType, store });

  for (const body of [eventBody(), "{", "", invalidUtf8]) {
    const forged = unsigned(body, { "x-svc-signature": forgedSignature });
    expect((await receiver.receive(forged)).code).toBe("signature_mismatch");
  }
  expect(parse).not.toHaveBeenCalled();
  expect(eventType).not.toHaveBeenCalled();
  expect(calls).toEqual([]);

  await receiver.receive(await signed());
  expect(parse).toHaveBeenCalledTimes(1);
});

test("trap 12: an event with 50,000 nested arrays is handled like any other", async () => {
  const { receiver } = observedReceiver();
  const nested = "[".repeat(50_000) + "]".repeat(50_000);
  const outcome = await receiver.receive(await signed(`{"type":"email.sent","data":${nested}}`));
  expect(outcome.code).toBe("processed");
});
