import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type * as Hmac from "../src/crypto/hmac-node.js";
import type { Secrets } from "../src/secrets.js";
import type * as Signature from "../src/signature.js";

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const text = (value: string) => new TextEncoder().encode(value);

/** RFC 4231, sections 4.2 to 4.8, except 4.6, whose output is truncated. */
const vectors = [
  {
    section: "4.2",
    key: bytes("0b".repeat(20)),
    data: text("Hi There"),
    mac: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  },
  {
    section: "4.3",
    key: text("Jefe"),
    data: text("what do ya want for nothing?"),
    mac: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
  {
    section: "4.4",
    key: bytes("aa".repeat(20)),
    data: bytes("dd".repeat(50)),
    mac: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
  },
  {
    section: "4.5",
    key: bytes("0102030405060708090a0b0c0d0e0f10111213141516171819"),
    data: bytes("cd".repeat(50)),
    mac: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  },
  {
    section: "4.7",
    key: bytes("aa".repeat(131)),
    data: text("Test Using Larger Than Block-Size Key - Hash Key First"),
    mac: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  },
  {
    section: "4.8",
    key: bytes("aa".repeat(131)),
    data: text(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    mac: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  },
];

const ab = "ab".repeat(32);

// Stryker finds the tests of a file by their imports, and `#hmac` resolves to the other file.
const platforms: [string, () => Promise<typeof Hmac>][] = [
  ["node", () => vi.importActual("../src/crypto/hmac-node.js")],
  ["web", () => import("../src/crypto/hmac-web.js")],
];

describe.each(platforms)("sign and verify on #hmac/%s", (platform, load) => {
  let lib: typeof Signature;

  beforeAll(async () => {
    vi.resetModules();
    vi.doMock("#hmac", load);
    lib = await import("../src/signature.js");
  });

  afterAll(() => vi.doUnmock("#hmac"));
  afterEach(() => void vi.restoreAllMocks());

  test("use the implementation under test", async () => {
    const subtle = vi.spyOn(crypto.subtle, "sign");
    await lib.sign("{}", "key");
    expect(subtle).toHaveBeenCalledTimes(platform === "web" ? 1 : 0);
  });

  test("import a text key once, as not extractable", async () => {
    const importKey = vi.spyOn(crypto.subtle, "importKey");
    const signature = await lib.sign("{}", "whsec_text");
    importKey.mockClear();
    for (let call = 0; call < 3; call += 1) await lib.verify("{}", signature, "whsec_text");
    const extractable = importKey.mock.calls.map((given) => given[3]);
    expect(extractable).toEqual(platform === "web" ? [false] : []);
  });

  test.each([
    ["text", "é"],
    ["bytes", text("é")],
    ["a view of a larger buffer", text("aéa").subarray(1, 3)],
  ])("agree on the fingerprint of %s: the first half of its SHA-256", async (_, data) => {
    const { fingerprint } = await load();
    const digest = createHash("sha256").update("é").digest("hex");
    expect(await fingerprint(data)).toBe(digest.slice(0, 32));
  });

  test.each(vectors)("agree with RFC 4231, section $section", async ({ key, data, mac }) => {
    expect(await lib.sign(data, key)).toBe(`sha256=${mac}`);
    const verified = await lib.verify(data, `sha256=${mac}`, key);
    expect(verified).toEqual({ ok: true, secretId: "default" });
  });

  test("accept exactly 64 hex digits of a key that a scheme imports", async () => {
    const { importKey } = await load();
    const key = await importKey(text("key"));
    // The last pair of these digits is "0" and another digit, which a lenient parser reads from "Xz" too.
    const body = text("{13}");
    const genuine = await key.sign(body);
    const start = genuine.slice(0, 62);
    const lenient = `${start}${genuine.slice(63)}z`;
    for (const hex of [
      "",
      genuine.slice(0, 2),
      start,
      `${start}\u00e9\u00e9`,
      `${genuine}ab`,
      lenient,
    ]) {
      // The Node build compares in a buffer that all calls share, so genuine digits precede each text.
      expect(await key.verify(body, genuine)).toBe(true);
      expect([hex, await key.verify(body, hex)]).toEqual([hex, false]);
    }
    expect(genuine).toMatch(/0[\da-f]$/);
  });

  test("agree with node:crypto on any bytes and keys", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 500 }),
        fc.uint8Array({ maxLength: 200 }).filter((key) => key.some(Boolean)),
        async (body, key) => {
          const mac = createHmac("sha256", key).update(body).digest("hex");
          expect(await lib.sign(body, key)).toBe(`sha256=${mac}`);
          const { ok } = await lib.verify(body, `sha256=${mac.toUpperCase()}`, key);
          expect(ok).toBe(true);
        },
      ),
    );
  });

  test("encode text as UTF-8", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary" }),
        fc.string({ maxLength: 200 }),
        async (body, end) => {
          // The ends avoid keys that are refused: those with a quote or white space around them.
          const key = `k${end}k`;
          fc.pre(body.isWellFormed());
          expect(await lib.sign(body, key)).toBe(await lib.sign(text(body), text(key)));
        },
      ),
    );
  });

  test("detect any single bit flipped in body, key or signature", async () => {
    // Keys of zeros are rejected, so flipping one bit must not produce one.
    const some = fc
      .uint8Array({ minLength: 2, maxLength: 100 })
      .filter((key) => key.filter(Boolean).length > 1);
    await fc.assert(
      fc.asyncProperty(some, some, fc.nat(), async (body, key, position) => {
        const signature = await lib.sign(body, key);
        const mac = bytes(signature.slice(7));
        const refused = { ok: false, code: "signature_mismatch" };
        const flippedMac = Buffer.from(flip(mac, position)).toString("hex");
        expect(await lib.verify(flip(body, position), signature, key)).toEqual(refused);
        expect(await lib.verify(body, `sha256=${flippedMac}`, key)).toEqual(refused);
        // A key shorter than a block is padded with zeros (RFC 2104), so the flipped bit must be within the key.
        expect(await lib.verify(body, signature, flip(key, position))).toEqual(refused);
      }),
    );
  });

  test.each([
    ["a missing value", undefined, "signature_missing"],
    ["null, as Headers.get returns it", null, "signature_missing"],
    ["an empty value", "", "signature_missing"],
    ["a value without the prefix", ab, "signature_malformed"],
    ["an upper-case prefix", `SHA256=${ab}`, "signature_malformed"],
    ["63 digits", `sha256=${"a".repeat(63)}`, "signature_malformed"],
    ["65 digits", `sha256=${"a".repeat(65)}`, "signature_malformed"],
    ["an invalid digit", `sha256=${"ab".repeat(31)}ag`, "signature_malformed"],
    ["two values", `sha256=${ab}, sha256=${ab}`, "signature_malformed"],
    ["a line break after it", `sha256=${ab}\n`, "signature_malformed"],
    ["another key's digits", `sha256=${ab}`, "signature_mismatch"],
  ])("return the code for %s", async (_, signature, code) => {
    expect(await lib.verify("{}", signature, "key")).toEqual({ ok: false, code });
  });

  test("return the id of the key that matched, and skip expired keys", async () => {
    const keys = [
      { id: "new", key: "key 1" },
      { id: "old", key: "key 2", expiresAt: new Date(Date.now() + 60_000) },
      { id: "older", key: "key 3", expiresAt: Date.now() - 1 },
    ];
    const verified = async (key: string) => lib.verify("{}", await lib.sign("{}", key), keys);
    expect(await verified("key 2")).toEqual({ ok: true, secretId: "old" });
    expect(await verified("key 3")).toMatchObject({ ok: false });
  });

  test("use the key of each call, whatever the previous call's key", async () => {
    const signature = await lib.sign("{}", "key 1");
    const isAccepted = async (key: Secrets) => (await lib.verify("{}", signature, key)).ok;
    const list = [{ id: "only", key: "key 1" }];
    expect(await isAccepted("key 1")).toBe(true);
    expect(await isAccepted("key 2")).toBe(false);
    expect(await isAccepted("key 1")).toBe(true);
    expect(await isAccepted(list)).toBe(true);
    // A list may be changed in place.
    list[0] = { id: "only", key: "key 2" };
    expect(await isAccepted(list)).toBe(false);
  });

  test("reject lone surrogates and parsed bodies", async () => {
    await expect(lib.sign("\ud800", "key")).rejects.toMatchObject({ option: "body" });
    await expect(lib.sign("{}", "\udc00 key")).rejects.toMatchObject({ code: "invalid_secret" });
    await expect(lib.sign({} as string, "key")).rejects.toMatchObject({ code: "invalid_option" });
    await expect(lib.verify("{}", "x", "")).rejects.toMatchObject({ code: "invalid_secret" });
  });
});

function flip(original: Uint8Array, position: number): Uint8Array {
  const flipped = original.slice();
  const index = (position >> 3) % original.length;
  flipped[index] = (flipped[index] ?? 0) ^ (1 << (position & 7));
  return flipped;
}
