import { describe, expect, test } from "vitest";
import { discord, sendgrid, standardWebhooks } from "../src/index.js";
import { senders as known } from "../src/senders.js";
import {
  receiving,
  sender,
  signatureHeader,
  withHeader,
  signedWorldOf,
  worldOf,
} from "./support.js";

const hexOf = (bytes: readonly number[]) => Buffer.from(bytes).toString("hex");

const one32 = Array.from({ length: 32 }, (_, index) => index + 1);
const integer = (bytes: readonly number[]) => [2, bytes.length, ...bytes];
const sequence = (...content: readonly number[]) => [0x30, content.length, ...content];

describe("a DER signature", () => {
  test.each<[string, readonly number[]]>([
    ["that is empty", []],
    ["of one byte", [0x30]],
    ["without integers", sequence()],
    ["with one integer", sequence(...integer(one32))],
    ["with three integers", sequence(...integer([1]), ...integer([1]), ...integer([1]))],
    ["with a length in the long form", [0x30, 0x81, 68, ...integer(one32), ...integer(one32)]],
    ["with an integer in the long form", sequence(2, 0x81, 32, ...one32, ...integer(one32))],
    ["with an integer of no length", sequence(...integer([]), ...integer(one32))],
    ["with r = 0", sequence(...integer([0]), ...integer(one32))],
    ["with s = 0", sequence(...integer(one32), ...integer([0]))],
    ["with a negative r", sequence(...integer([0x80]), ...integer(one32))],
    ["with a zero byte before a positive r", sequence(...integer([0, 1]), ...integer(one32))],
    ["with 33 bytes of r", sequence(...integer([1, ...one32]), ...integer(one32))],
    ["with 34 bytes of r", sequence(...integer([0, 0xff, ...one32]), ...integer(one32))],
    ["with a byte after it", [...sequence(...integer(one32), ...integer(one32)), 0]],
    ["with a byte inside after s", sequence(...integer(one32), ...integer(one32), 0)],
    ["whose length is 1 too small", [0x30, 67, ...integer(one32), ...integer(one32)]],
    ["whose length is 1 too large", [0x30, 69, ...integer(one32), ...integer(one32)]],
    ["that is cut", sequence(...integer(one32), ...integer(one32)).slice(0, -1)],
    ["with another tag", [0x31, ...sequence(...integer(one32), ...integer(one32)).slice(1)]],
    ["with another tag of r", sequence(3, 32, ...one32, ...integer(one32))],
    ["with an s beyond its end", sequence(...integer(one32), 2, 33, ...one32)],
    ["of 73 bytes", sequence(...integer([1, 2, 3, ...one32]), ...integer([...one32, 1]))],
  ])("%s is malformed", async (_what, der) => {
    const { receive, sign, clock } = await worldOf(sender("sendgrid"));
    const headers = await sign("[]", { at: clock.now() });
    const base64 = Buffer.from(der).toString("base64");
    const changed = withHeader(headers, signatureHeader(sender("sendgrid")), () => base64);
    expect((await receive(changed, "[]")).code).toBe(
      der.length === 0 ? "signature_missing" : "signature_malformed",
    );
  });

  test("with r and s of 1 byte or 32 bytes is compared", async () => {
    const { receive, sign, clock } = await worldOf(sender("sendgrid"));
    const headers = await sign("[]", { at: clock.now() });
    const large = [0, ...one32.with(0, 0xff)];
    for (const der of [
      sequence(...integer([1]), ...integer([1])),
      sequence(...integer(one32), ...integer(one32)),
      sequence(...integer(large), ...integer(large)),
    ]) {
      const base64 = Buffer.from(der).toString("base64");
      const changed = withHeader(headers, signatureHeader(sender("sendgrid")), () => base64);
      expect(await receive(changed, "[]")).toMatchObject({ code: "signature_mismatch" });
    }
  });
});

/** All encodings of points whose order divides 8, those with y above the prime included. */
const smallOrder = [
  `01${"00".repeat(31)}`,
  "00".repeat(32),
  `ec${"ff".repeat(30)}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
].flatMap((hex) => {
  const bytes = Buffer.from(hex, "hex");
  const signed = Buffer.from(bytes);
  signed[31] = (bytes[31] ?? 0) | 0x80;
  return [bytes, signed];
});

describe("an Ed25519 key of small order", () => {
  test.each(smallOrder.map((bytes) => [bytes.toString("hex"), bytes] as const))(
    "%s is refused",
    (hex, bytes) => {
      const refused = expect.objectContaining({ code: "invalid_secret", option: "secret" });
      const text = `whpk_${bytes.toString("base64")}`;
      expect(() => receiving(discord(), { secret: hex })).toThrow(refused);
      expect(() => receiving(discord(), { secret: bytes })).toThrow(refused);
      const scheme = standardWebhooks({ algorithm: "ed25519" });
      expect(() => receiving(scheme, { secret: text })).toThrow(refused);
    },
  );
});

describe("an Ed25519 signature", () => {
  test.each([
    ["of zeros", hexOf(Array.from({ length: 64 }, () => 0))],
    ["of the identity and zero", hexOf([1, ...Array.from({ length: 63 }, () => 0)])],
    ["of 0xff", "ff".repeat(64)],
  ])("%s is a mismatch", async (_what, hex) => {
    for (const name of ["discord", "standard-webhooks-ed25519"] as const) {
      const one = sender(name);
      const { receive, body, headers } = await signedWorldOf(one);
      const base64 = Buffer.from(hex, "hex").toString("base64");
      const text = name === "discord" ? hex : `v1a,${base64}`;
      const changed = withHeader(headers, signatureHeader(one), () => text);
      expect(await receive(changed, body)).toMatchObject({ code: "signature_mismatch" });
    }
  });
});

describe("the algorithm is the receiver's", () => {
  test("an HMAC that is made with the public key is refused, whatever its version", async () => {
    const one = sender("standard-webhooks-ed25519");
    const { keys, receive, clock } = await worldOf(one);
    const body = one.body({ at: clock.now() });
    const key = keys.secret.replace("whpk_", "whsec_");
    const { sign } = await worldOf(sender("standard-webhooks"));
    const forged = await sign(body, { at: clock.now(), secret: key });
    expect(await receive(forged, body)).toMatchObject({ code: "signature_malformed" });
    const relabeled = withHeader(forged, "webhook-signature", (value) =>
      value.replace("v1,", "v1a,"),
    );
    expect(await receive(relabeled, body)).toMatchObject({ code: "signature_malformed" });
  });

  test("a list with both versions is verified by either scheme, with its own one", async () => {
    const hmac = await worldOf(sender("standard-webhooks"));
    const ed25519 = await worldOf(sender("standard-webhooks-ed25519"));
    const body = '{"type":"sent"}';
    const at = hmac.clock.now();
    const first = await hmac.sign(body, { at });
    const second = await ed25519.sign(body, { at });
    const both = withHeader(
      first,
      "webhook-signature",
      (value) => `${value} ${second["webhook-signature"]}`,
    );
    expect(await hmac.receive(both, body)).toMatchObject({ code: "processed" });
    expect(await ed25519.receive(both, body)).toMatchObject({ code: "processed" });
  });

  test("an EC key on another curve is refused, or ends as internal_error when it is imported", async () => {
    const { publicKey } = await crypto.subtle.generateKey(
      { name: "ECDSA", namedCurve: "P-384" },
      true,
      ["verify", "sign"],
    );
    const spki = Buffer.from(await crypto.subtle.exportKey("spki", publicKey));
    const refused = expect.objectContaining({ code: "invalid_secret" });
    expect(() => receiving(sendgrid(), { secret: spki.toString("base64") })).toThrow(refused);

    const broken = Buffer.from((await known.sendgrid.testKeys()).secret, "base64").fill(7, 30);
    const { sign } = await worldOf(sender("sendgrid"));
    const { receive, clock, lines } = receiving(sendgrid(), { secret: broken });
    const outcome = await receive(await sign("[]", { at: clock.now() }), "[]");
    expect(outcome).toMatchObject({ code: "internal_error", status: 500 });
    expect(lines).toHaveLength(1);
  });
});
