import { isFull, sized } from "@svc-webhooks/kit/sized";
import { createHash, createHmac } from "node:crypto";
import { sign } from "@svc-webhooks/core";
import {
  compact,
  crlf,
  invalid,
  lf,
  marked,
  plantMistakes,
  pythonEscapes,
  spaced,
} from "@svc-webhooks/kit/planted-mistakes";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { explain, type Explanation, type MistakeId } from "../src/index.js";
import { mistakes } from "../src/mistakes.js";

// The tests sign with node:crypto, as mistaken code would.

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const previousSecrets = [oldSecret];
const otherSecret = "whsec_b3RoZXIgZW5kcG9pbnQ6IGEgc2VjcmV0";
const otherSecrets = [otherSecret];

type Message = string | Uint8Array;
type Key = string | Uint8Array;

const bytesOf = (message: Message) =>
  typeof message === "string" ? Buffer.from(message) : message;
const hmac = (message: Message, key: Key = secret, hash = "sha256") =>
  createHmac(hash, key).update(message);
const signed = (message: Message, key: Key = secret) =>
  `sha256=${hmac(message, key).digest("hex")}`;

const explained = (
  body: Message,
  signature: string | undefined,
  { secrets = secret, quick = false } = {},
) => explain({ body: bytesOf(body), signature, secrets, previousSecrets, otherSecrets, quick });

function expectNoSecretIn(found: Explanation): void {
  const text = JSON.stringify(found);
  expect(text).not.toContain(secret.slice(6, 14));
  expect(text).not.toContain(oldSecret.slice(6, 14));
}

const digest = hmac(compact).digest("hex");
const planted = plantMistakes({ secret, oldSecret, otherSecret });

test.each(planted)("names $id: $how", async ({ id, body = compact, signature, secrets }) => {
  const found = await explained(body, signature, { secrets });
  expect(found).toMatchObject({ verdict: "known_mistake", mistake: { id } });
  expect(found.checked).toContain(id);
  expectNoSecretIn(found);
});

test("plants every mistake", () => {
  const ids = new Set(planted.map(({ id }) => id));
  expect([...ids].toSorted()).toEqual(Object.keys(mistakes).toSorted());
});

test.each(Object.entries(mistakes))("describes %s in whole sentences", (_id, { cause, fix }) => {
  expect(cause).toMatch(/^[A-Z].+\.$/);
  expect(fix).toMatch(/^[A-Z].+\.$/);
});

test.each([
  {
    names: ["base64", "prefix"],
    signature: hmac(compact).digest("base64"),
  },
  {
    names: ["parsed and serialized", "prefix"],
    signature: hmac(JSON.stringify(JSON.parse(spaced))).digest("hex"),
  },
  {
    names: ["without `whsec_`", "base64"],
    signature: `sha256=${hmac(spaced, secret.slice(6)).digest("base64")}`,
  },
  {
    names: ["white space", "parsed and serialized", "SHA-1"],
    signature: `sha1=${hmac(JSON.stringify(JSON.parse(spaced)), `${secret}\n`, "sha1").digest("hex")}`,
  },
  {
    names: ["old secret", "decoded from base64"],
    signature: signed(spaced, Buffer.from(oldSecret.slice(6), "base64")),
  },
  {
    names: ["another endpoint", "parsed and serialized"],
    signature: signed(JSON.stringify(JSON.parse(spaced)), otherSecret),
  },
  {
    names: ["another endpoint", "without `whsec_`"],
    signature: signed(spaced, otherSecret.slice(6)),
  },
  {
    names: ["indentation", "newline"],
    signature: signed(`${JSON.stringify(JSON.parse(spaced), null, 2)}\n`),
  },
  {
    names: ["swapped", "uppercase"],
    signature: `sha256=${hmac(secret, spaced).digest("hex").toUpperCase()}`,
  },
])("names all of several mistakes: $names", async ({ names, signature }) => {
  const body = names.includes("base64") && names.includes("prefix") ? compact : spaced;
  const { verdict, mistake } = await explained(body, signature);
  expect(verdict).toBe("known_mistake");
  for (const name of names) expect(mistake?.cause).toContain(name);
});

describe("a right signature", () => {
  const bodies: readonly Message[] = [compact, spaced, crlf, lf, marked, invalid, "", "{}", "null"];

  test.each(bodies)("has the verdict same for %j", async (body) => {
    expect(await explained(body, signed(body))).toEqual({ verdict: "same", checked: [] });
    expect(await explained(body, await sign(bytesOf(body), secret))).toMatchObject({
      verdict: "same",
    });
  });

  test("has the verdict same with each current secret", async () => {
    const secrets = [secret, oldSecret];
    for (const key of secrets) {
      const signature = signed(compact, key);
      const found = await explain({ body: bytesOf(compact), signature, secrets });
      expect(found.verdict).toBe("same");
    }
  });

  test("has the verdict same with a key of bytes, and old_secret after its rotation", async () => {
    const key = Buffer.from(secret.slice(6), "base64");
    const request = { body: bytesOf(compact), signature: signed(compact, key) };
    expect(await explain({ ...request, secrets: [key] })).toMatchObject({ verdict: "same" });
    expect(
      await explain({ ...request, secrets: secret.replace("M", "N"), previousSecrets: [key] }),
    ).toMatchObject({ verdict: "known_mistake", mistake: { id: "old_secret" } });
  });

  test("has the verdict same if the secret is also listed as a previous one", async () => {
    const secrets = [secret];
    const request = { body: bytesOf(compact), secrets, previousSecrets: secrets };
    expect(await explain({ ...request, signature: signed(compact) })).toMatchObject({
      verdict: "same",
    });
  });

  const json = fc
    .tuple(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom(undefined, 1, 2, 4, "\t"),
      fc.constantFrom("", "\n", "\r\n"),
    )
    .map(([value, indent, end]) => Buffer.from(JSON.stringify(value, null, indent) + end));
  const anyBody = fc.oneof(json, fc.uint8Array({ maxLength: 200 }));

  test("is same for any body, and only for equal bytes", async () => {
    await fc.assert(
      fc.asyncProperty(anyBody, anyBody, async (body, other) => {
        const signature = signed(other);
        const { verdict } = await explained(body, signature);
        expect(verdict === "same").toBe(Buffer.compare(body, other) === 0);
        expect((await explained(other, signature)).verdict).toBe("same");
      }),
      // An unknown value needs thousands of digests.
      { numRuns: sized(5, 15) },
    );
  });

  test("is not that of random JSON in another form, which is a known mistake", async () => {
    const rewrites: readonly ((body: Buffer) => Message)[] = [
      (body) => JSON.stringify(JSON.parse(String(body))),
      (body) => JSON.stringify(JSON.parse(String(body)), null, 2),
      (body) => String(body).trim(),
      (body) => `${String(body)}\n`,
      (body) => String(body).replaceAll("\r\n", "\n"),
      (body) => pythonEscapes(String(body)),
      (body) => body.toString("latin1"),
    ];
    await fc.assert(
      fc.asyncProperty(json, fc.constantFrom(...rewrites), async (body, rewrite) => {
        const rewritten = Buffer.from(bytesOf(rewrite(body)));
        const { verdict } = await explained(body, signed(rewritten));
        expect(verdict).toBe(Buffer.compare(rewritten, body) === 0 ? "same" : "known_mistake");
      }),
      { numRuns: sized(50, 200) },
    );
  });
});

describe("a mistake that the body already had", () => {
  const strings = fc.string({
    unit: fc.constantFrom("a", "b", "/", "é", "<", "\\", '"', "\n", "😀"),
    maxLength: 4,
  });
  const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      strings,
      fc.constantFrom(1, 2.5, true, null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(strings, tie("value"), { maxKeys: 3 }),
    ),
  }));
  const forms = fc.record({
    isSorted: fc.boolean(),
    layout: fc.constantFrom("compact", "spaced", 2, 4, "\t"),
    hasEscapedUnicode: fc.boolean(),
    hasEscapedSlashes: fc.boolean(),
    end: fc.constantFrom("", "\n"),
  });
  type Form = typeof forms extends fc.Arbitrary<infer One> ? One : never;

  /** Formats JSON in Python's layout. Strings contain no line ends, because JSON escapes them. */
  const spaceOut = (json: string) =>
    JSON.stringify(JSON.parse(json), null, 1).replaceAll(/(,?)\n */g, (_, comma: string) =>
      comma === "" ? "" : ", ",
    );
  const sortKeys = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(sortKeys).join(",")}]`;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${sortKeys(one)}`).join(",")}}`;
  };

  function written(value: unknown, form: Form): string {
    const { layout, hasEscapedUnicode, hasEscapedSlashes, end } = form;
    const sorted = JSON.parse(form.isSorted ? sortKeys(value) : JSON.stringify(value)) as unknown;
    let text = JSON.stringify(
      sorted,
      null,
      typeof layout === "number" || layout === "\t" ? layout : 0,
    );
    if (layout === "spaced") text = spaceOut(text);
    if (hasEscapedUnicode) text = pythonEscapes(text);
    if (hasEscapedSlashes) text = text.replaceAll("/", String.raw`\/`);
    return text + end;
  }

  /** Returns the mistakes that are part of a text. */
  function partsOf(text: string): readonly MistakeId[] {
    const json = JSON.stringify(JSON.parse(text));
    const bare = text.trim();
    const hasUnicode = /\\u/.test(text);
    const hasSlashes = /(?<!\\)(?:\\\\)*\\\//.test(text);
    const parts: readonly (readonly [MistakeId, boolean])[] = [
      ["escaped_unicode", hasUnicode],
      ["escaped_slashes", hasSlashes],
      ["unescaped_unicode", !hasUnicode && !hasSlashes],
      ["spaced_json", /^.*$/.test(bare) && bare !== json && /[,:] /.test(bare)],
      ["pretty_printed_json", bare.includes("\n")],
      ["sorted_keys", sortKeys(JSON.parse(text)) === json],
      ["newline_added", text.endsWith("\n")],
    ];
    return parts.filter(([, isPart]) => isPart).map(([id]) => id);
  }

  test("is never named", async () => {
    await fc.assert(
      fc.asyncProperty(values, forms, forms, async (value, bodyForm, signedForm) => {
        const body = written(value, bodyForm);
        // The original order of sorted keys cannot be restored.
        const isSorted = bodyForm.isSorted || signedForm.isSorted;
        const other = written(value, { ...signedForm, isSorted });
        const { verdict, mistake } = await explained(body, signed(other));
        expect(verdict).toBe(body === other ? "same" : "known_mistake");
        for (const id of partsOf(body))
          expect(mistake?.cause ?? "").not.toContain(mistakes[id].cause);
      }),
      { numRuns: sized(50, 300) },
    );
  });
});

describe("an unknown value", () => {
  const random = `sha256=${createHash("sha256").update("random").digest("hex")}`;

  test.each([
    { what: "another digest", signature: random },
    { what: "no prefix", signature: random.slice(7) },
    { what: "half a digest", signature: random.slice(0, 39) },
    { what: "another SHA-1", signature: `sha1=${random.slice(7, 47)}` },
    { what: "base64", signature: Buffer.from(random).toString("base64") },
    { what: "too few digits of the right digest", signature: `sha256=${digest.slice(0, 8)}` },
    { what: "two digests", signature: `sha256=${digest}, sha256=${digest}` },
    { what: "control characters", signature: "\0\uD800 \u202e" },
    { what: "10,000 letters", signature: "é".repeat(10_000) },
    { what: "10,000 equals signs", signature: "=".repeat(10_000) },
    { what: "5,000 prefixes", signature: "a=".repeat(5_000) },
    { what: "a million spaces", signature: `x${" ".repeat(1_000_000)}x` },
    { what: "10,000 hex digits", signature: "f".repeat(10_000) },
    { what: "the most base64 digits that are read", signature: `sha256=${"A".repeat(505)}` },
  ])("has no mistake: $what", async ({ signature }) => {
    // The whole search costs thousands of digests, whatever the value.
    const found = await explained(compact, signature, { quick: !isFull });
    const sha256 = createHash("sha256").update(compact).digest("hex");
    expect(found).toMatchObject({
      verdict: "unknown",
      next_step: expect.stringContaining(
        `${bytesOf(compact).length} bytes, with the SHA-256 ${sha256}.`,
      ),
    });
    expect(found).not.toHaveProperty("mistake");
    expectNoSecretIn(found);
  });

  test("does not contain a short secret by chance", async () => {
    const request = { body: bytesOf(compact), signature: random, secrets: "a" };
    expect(await explain({ ...request, previousSecrets: ["", "b"] })).toMatchObject({
      verdict: "unknown",
    });
  });

  test("has all applicable mistakes and their combinations checked", async () => {
    const { checked } = await explained(spaced, random);
    expect(checked).toEqual(
      expect.arrayContaining(["old_secret", "reserialized_json", "sha1", "combinations"]),
    );
  });

  test("has no mistakes of JSON checked for a body that is not JSON", async () => {
    const { checked } = await explained("not JSON", random);
    expect(checked).toContain("newline_added");
    expect(checked.filter((id) => /json|keys|escape/.test(id))).toEqual([]);
  });

  test("has no combinations checked for a large body, but each mistake", async () => {
    const body = JSON.stringify({ text: "é ".repeat(sized(8_192, 524_288)) });
    const { verdict, checked } = await explained(body, random);
    expect(verdict).toBe("unknown");
    expect(checked).toContain("spaced_json");
    expect(checked).not.toContain("combinations");
    const spacedBody = body.replace(":", ": ");
    expect(await explained(body, signed(spacedBody))).toMatchObject({
      mistake: { id: "spaced_json" },
    });
  });

  test("has no changes of a body checked for one of more than 4 MiB", async () => {
    const { checked } = await explained(Buffer.alloc(4 * 1_048_576 + 1, "x"), random);
    expect(checked).toContain("secret_space");
    expect(checked).not.toContain("newline_added");
  });

  test("has combinations with the first five secrets of other endpoints checked", async () => {
    const others = Array.from({ length: 6 }, (_, index) => `whsec_other_${index}`);
    const verdictOf = async (key = "") => {
      const signature = signed(`${compact}\n`, key);
      const request = { body: bytesOf(compact), signature, secrets: secret, otherSecrets: others };
      const { verdict, checked } = await explain(request);
      expect(checked).toContain("combinations");
      return verdict;
    };
    expect(await verdictOf(others[4])).toBe("known_mistake");
    expect(await verdictOf(others[5])).toBe("unknown");
  });

  test("has no combinations checked if there are more than 10,000", async () => {
    const secrets = Array.from({ length: 30 }, (_, index) => `whsec_${index}`);
    const request = { body: bytesOf(compact), signature: random, secrets };
    expect((await explain(request)).checked).not.toContain("combinations");
  });

  test.each([
    ["nested arrays", "[".repeat(100_000) + "]".repeat(100_000)],
    ["nested objects", '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000)],
    ["a backslash at the end of a string", String.raw`{"\\":"","a":{"b":[""]}}`],
    [
      "many nested arrays",
      `[${`${"[".repeat(490)}1${"]".repeat(490)},`.repeat(sized(150, 1_500))}1]`,
    ],
    ["unclosed arrays", "[".repeat(1_048_576)],
    ["a mebibyte of escapes", JSON.stringify("\\".repeat(524_288))],
    ["many quotes", JSON.stringify('"'.repeat(sized(131_072, 524_288)))],
    ["a mebibyte of newlines", `${"\r\n".repeat(524_288)}x`],
    ["a mebibyte of white space in JSON", `[1,${" ".repeat(1_048_576)}2]`],
    ["many small values", `[${"1,".repeat(sized(30_000, 300_000))}1]`],
    ["invalid UTF-8", invalid],
    ["a byte order mark alone", "\uFEFF"],
    ["duplicate and prototype keys", '{"__proto__":1,"a":1,"a":2,"constructor":{"__proto__":[]}}'],
    ["numbers beyond 2^53 and 10^308", "[9007199254740993,1e999,-0,0.1e-400]"],
    ["lone surrogates", String.raw`["\ud800","\udc00\ud800","\\ud83d\ude00"]`],
  ])("causes no error with %s", async (_what, body) => {
    expect(await explained(body, random)).toMatchObject({ verdict: "unknown" });
    expect(await explained(body, signed(body))).toMatchObject({ verdict: "same" });
  });
});

test("names the first difference from the right signature of the first secret", async () => {
  const right = signed(compact);
  const different = `${right.slice(0, 20)}${right[20] === "0" ? "1" : "0"}${right.slice(21)}`;
  expect(await explained(compact, different)).toMatchObject({
    verdict: "unknown",
    first_difference: { at: 20, signed: right[20], yours: different[20] },
  });
  expect(await explained(compact, right.slice(0, 40))).toMatchObject({
    first_difference: { at: 40, signed: right[40], yours: "" },
  });
  expect(await explained(compact, `${right}x`)).toMatchObject({
    first_difference: { at: 71, signed: "", yours: "x" },
  });
  expect(await explained(compact, undefined)).toMatchObject({
    first_difference: { at: 0, signed: "s", yours: "" },
  });
});

test("shows where the bytes that were signed differ from the body", async () => {
  const body = '{ "name": "Zoë", "n": 1 }';
  const { body_difference: difference } = await explained(body, signed('{"name":"Zoë","n":1}'));
  expect(difference).toEqual({
    bytes: 21,
    at: 1,
    before: "{",
    body: ' "name": "Zoë", "n": 1 }',
    yours: '"name":"Zoë","n":1}',
  });
  const escaped = await explained('{"name":"Zoë"}', signed(String.raw`{"name":"Zo\u00eb"}`));
  expect(escaped.body_difference).toMatchObject({
    before: '{"name":"Zo',
    body: 'ë"}',
    yours: String.raw`\u00eb"}`,
  });
  expect(await explained(body, signed(body).replace("sha256=", ""))).not.toHaveProperty(
    "body_difference",
  );
});

test.each(["", "undefined", `"${secret}"`, `${secret}\n`])(
  "rejects a secret that a receiver refuses: %j",
  async (wrong) => {
    const request = { body: bytesOf(compact), signature: signed(compact), secrets: wrong };
    await expect(explain(request)).rejects.toMatchObject({ code: "invalid_secret" });
  },
);

test.each([compact, undefined, { type: "email.sent" }, [123]])(
  "rejects a body that is not bytes: %j",
  async (body) => {
    const request = { body: body as never, signature: signed(compact), secrets: secret };
    await expect(explain(request)).rejects.toMatchObject({
      name: "ConfigError",
      code: "invalid_option",
      option: "body",
    });
  },
);

test("rejects an empty list of secrets", async () => {
  const request = { body: bytesOf(compact), signature: signed(compact), secrets: [] };
  await expect(explain(request)).rejects.toMatchObject({
    name: "ConfigError",
    code: "invalid_secret",
    option: "secrets",
  });
});

test.each([
  ["signature", 5],
  ["signature", ["a"]],
  ["previousSecrets", null],
  ["previousSecrets", oldSecret],
  ["previousSecrets", [undefined]],
  ["otherSecrets", otherSecret],
])("rejects the option %s: %j", async (option, value) => {
  const request = { body: bytesOf(compact), signature: signed(""), secrets: secret };
  await expect(explain({ ...request, [option]: value })).rejects.toMatchObject({
    name: "ConfigError",
    code: "invalid_option",
    option,
  });
});

test("rejects a missing request", async () => {
  await expect(explain(undefined as never)).rejects.toMatchObject({ name: "ConfigError" });
});

test("explains the bytes at the time of the call", async () => {
  const body = Buffer.from(compact);
  const promise = explain({ body, signature: signed(compact), secrets: secret });
  body.fill(0);
  expect((await promise).verdict).toBe("same");
});

describe("where WebCrypto computes a digest without a turn of the event loop", () => {
  /**
   * Returns how often the search lets the event loop turn, and the maximum number of digests between two turns. The
   * turns are counted where the search requests them: Node may run two due timers in one turn of its own loop.
   */
  async function turnsOf(body: string) {
    const counts = { turns: 0, digests: 0, most: 0 };
    const compute = () => {
      counts.digests += 1;
      counts.most = Math.max(counts.most, counts.digests);
      return Promise.resolve(new ArrayBuffer(32));
    };
    const spies = [vi.spyOn(crypto.subtle, "sign"), vi.spyOn(crypto.subtle, "digest")];
    for (const spy of spies) spy.mockImplementation(compute);
    vi.spyOn(crypto.subtle, "importKey").mockResolvedValue({} as never);
    vi.spyOn(globalThis, "setTimeout").mockImplementation((resume) => {
      counts.turns += 1;
      counts.digests = 0;
      return setImmediate(resume) as never;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    expect((await explained(body, signed("unknown"))).verdict).toBe("unknown");
    return counts;
  }

  test("it turns after at most 1,000 digests of a small body", async () => {
    const { turns, most } = await turnsOf(spaced);
    expect(turns).toBeGreaterThanOrEqual(10);
    expect(most).toBeLessThanOrEqual(1_000);
  });

  test("it turns while the variants of a large body are made", async () => {
    const body = JSON.stringify({ spaced, text: "x".repeat(20_000) });
    const { turns, most } = await turnsOf(body);
    expect(turns).toBeGreaterThanOrEqual(50);
    expect(most).toBeLessThanOrEqual(100);
  });
});

describe("with text that is signed before the body", () => {
  const before = "1700000000.";
  const explainedAfter = (body: Message, signature: string) =>
    explain({ body: bytesOf(body), signature, before, secrets: secret, previousSecrets });

  test("is the same only if the text was signed", async () => {
    expect(await explainedAfter(compact, signed(before + compact))).toMatchObject({
      verdict: "same",
    });
    expect(await explainedAfter(compact, signed(compact))).toMatchObject({ verdict: "unknown" });
  });

  test.each<[MistakeId, string, string]>([
    ["old_secret", compact, signed(before + compact, oldSecret)],
    ["newline_added", compact, signed(`${before}${compact}\n`)],
    ["reserialized_json", spaced, signed(before + JSON.stringify(JSON.parse(spaced)))],
    ["sha1", compact, `sha1=${hmac(before + compact, secret, "sha1").digest("hex")}`],
  ])("names %s", async (id, body, signature) => {
    const found = await explainedAfter(body, signature);
    expect(found).toMatchObject({ verdict: "known_mistake", mistake: { id } });
    if (id === "newline_added") expect(found.body_difference?.bytes).toBe(compact.length + 1);
  });
});
