import { inspect } from "node:util";
import fc from "fast-check";
import { sized } from "@svc-webhooks/kit/sized";
import { describe, expect, test } from "vitest";
import { maskOf } from "../src/lib/mask.js";
import { cleaned, mostUntrustedBytes, untrustedText } from "../src/lib/untrusted.js";
import { secret } from "./support.js";

const runs = { numRuns: sized(300, 20_000) };

const forbidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** Texts with many characters that must not pass. */
const nasty = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u001b[31m", "\u001b]0;t\u0007", "\u009b2J", "\u202e", "\u2066", "\u200b"),
      fc.constantFrom("\r\n", "\u2028", "\u0000", "\ud800", "\udc00", "\u{e0041}", "\ufe0f"),
      fc.constantFrom("\u{e0100}", "\u3164", "\u034f", "\ufeff", "\u00ad", "\ue000", "\uffff"),
    ),
  )
  .map((parts) => parts.join(""));

const unmasked = (text: string) => text;

describe("the cleaner", () => {
  test("leaves one line of visible characters, and changes nothing the second time", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const once = cleaned(text);
        expect(once).not.toMatch(forbidden);
        expect(cleaned(once)).toBe(once);
      }),
      runs,
    );
  });

  test("keeps visible text", () => {
    const text = 'Grüße, 東京 😀 {"a": [1, "\\n"]} \u00e9 e\u0301';
    expect(cleaned(text)).toBe(text);
  });

  test("bounds any texts to 4,096 bytes of whole characters, and states the cut", () => {
    const texts = fc.array(fc.tuple(fc.constantFrom("body", "response"), nasty), { maxLength: 5 });
    const long = fc.tuple(texts, fc.nat(3_000), fc.constantFrom("x", "é", "東", "😀"));
    fc.assert(
      fc.property(long, ([given, size, filler]) => {
        const all = [...given, ["filler", filler.repeat(size)] as const];
        const result = untrustedText(all, unmasked) ?? "";
        const { length } = Buffer.from(result);
        expect(length).toBeLessThanOrEqual(mostUntrustedBytes);
        expect(result).not.toContain("\ufffd\n[cut");
        const whole = all.map(([label, text]) => `${label}: ${cleaned(text)}`).join("\n");
        const isCut = Buffer.byteLength(whole) > mostUntrustedBytes;
        expect(/\n\[cut: the first \d+ of \d+ bytes\]$/.test(result)).toBe(isCut);
        if (isCut) expect(whole.startsWith(result.replace(/\n\[cut: [^\n]+$/, ""))).toBe(true);
        else expect(result).toBe(whole);
      }),
      runs,
    );
  });

  test("a foreign text is on one line, so it cannot imitate another label", () => {
    const result = untrustedText([["body", "x\nresponse: 200\r\u2028response: 200"]], unmasked);
    expect(result).toBe("body: x response: 200 response: 200");
  });

  test("no texts are no field", () => {
    expect(untrustedText([], unmasked)).toBeUndefined();
  });
});

describe("the mask", () => {
  const mask = maskOf([secret]);
  const inUrl = "whsec_ab-cd12_ef-gh34kl_mn-op56_qr";
  const masks = maskOf([secret, inUrl]);
  const around = fc.string({ unit: "grapheme", maxLength: 20 });
  const part = fc
    .tuple(fc.nat(secret.length - 8), fc.integer({ min: 8, max: secret.length }))
    .map(([start, length]) => secret.slice(start, start + length));

  const encodings: Readonly<Record<string, (bytes: Buffer) => string>> = {
    text: String,
    hex: (bytes) => bytes.toString("hex"),
    "upper-case hex": (bytes) => bytes.toString("hex").toUpperCase(),
    percent: (bytes) => bytes.toString("hex").replaceAll(/../g, "%$&"),
    "percent twice": (bytes) => bytes.toString("hex").replaceAll(/../g, "%25$&"),
    JSON: (bytes) => bytes.toString("hex").replaceAll(/../g, String.raw`\u00$&`),
    HTML: (bytes) => bytes.toString("hex").replaceAll(/../g, "&#x$&;"),
    "hex with colons": (bytes) => bytes.toString("hex").replaceAll(/..(?=.)/g, "$&:"),
    "hex with spaces": (bytes) => bytes.toString("hex").replaceAll(/..(?=.)/g, "$& "),
    "hex with dashes": (bytes) => bytes.toString("hex").replaceAll(/..(?=.)/g, "$&-"),
    "a list of hex literals": (bytes) => bytes.toString("hex").replaceAll(/..(?=.)/g, "0x$&, "),
    "decimal bytes": (bytes) => String(new Uint8Array(bytes)),
    "full-width text": (bytes) =>
      String(bytes).replaceAll(/[!-~]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0)),
  };

  test.each(Object.entries(encodings))("hides each part of a secret as %s", (_, encode) => {
    fc.assert(
      fc.property(around, part, around, (before, hidden, after) => {
        const encoded = encode(Buffer.from(hidden));
        expect(mask(`${before} ${encoded} ${after}`)).not.toContain(encoded);
      }),
      runs,
    );
  });

  test.each([
    ["JSON with escaped slashes", secret.replaceAll("/", String.raw`\/`)],
    ["JSON in JSON", secret.replaceAll("/", String.raw`\\\/`)],
    ["JSON in JSON without the outer escape", secret.replaceAll("/", String.raw`\\/`)],
    ["HTML with names", secret.replaceAll("/", "&sol;").replaceAll("+", "&plus;")],
    ["HTML in HTML", secret.replaceAll("/", "&amp;sol;").replaceAll("+", "&amp;plus;")],
    ["HTML without semicolons", secret.replaceAll("/", "&#47").replaceAll("+", "&#43")],
    ["JSON escapes in JSON", secret.replaceAll("/", String.raw`\\\\\\\\u002f`)],
    ["base64url of its own text", secret.replaceAll("/", "_").replaceAll("+", "-")],
    ["base64 of a secret in base64url", inUrl.replaceAll("_", "/").replaceAll("-", "+")],
    ["HTML names of base64url", inUrl.replaceAll("_", "&lowbar;").replaceAll("-", "&hyphen;")],
  ])("hides the whole secret as %s", (_, text) => {
    expect(masks(`<${text}>`)).toBe("<…>");
  });

  test("hides a secret with quotes and backslashes in JSON", () => {
    const odd = String.raw`a"b\c"d\\e"f"g`;
    expect(maskOf([odd])(JSON.stringify(odd))).toBe('"…"');
  });

  test("reads a long run of backslashes in linear time", () => {
    const text = "\\".repeat(200_000);
    expect(masks(text)).toBe(text);
  });

  test("hides a secret in base64 at any alignment, within other bytes", () => {
    const bytes = fc.uint8Array({ maxLength: 30 });
    fc.assert(
      fc.property(bytes, bytes, fc.boolean(), (before, after, isUrl) => {
        const whole = Buffer.concat([before, Buffer.from(secret), after]);
        const result = mask(whole.toString(isUrl ? "base64url" : "base64"));
        const decoded = Buffer.from(result.replaceAll("…", ""), "base64").toString("latin1");
        for (let at = 0; at + 8 <= secret.length; at += 1)
          expect(decoded).not.toContain(secret.slice(at, at + 8));
        expect(result).toContain("…");
      }),
      runs,
    );
  });

  const bytes = Buffer.from(secret);
  test.each([
    ["inspect of a Buffer", inspect(bytes)],
    ["inspect of a Uint8Array", inspect(new Uint8Array(bytes))],
    ["a Buffer as JSON", JSON.stringify(bytes)],
    ["a Buffer as indented JSON", JSON.stringify(bytes, null, 2)],
    ["a Buffer in JSON in JSON", JSON.stringify(JSON.stringify({ bytes }))],
  ])("hides %s, as Node prints it", (_, text) => {
    const numbers = mask(cleaned(text)).match(/\b[0-9a-f]{2,3}\b/g) ?? [];
    expect(numbers.length).toBeLessThan(8);
  });

  test("leaves lists of other numbers unchanged", () => {
    const text = "1, 2, 3, 119, 104, 300 77:68:73 2026-01-02T03:04:05 10.0.0.1 <Buffer 00 ff>";
    expect(mask(text)).toBe(text);
  });

  test("leaves text without a secret unchanged", () => {
    const text = "The receiver refused the delivery: sha256=00ff %41 \\u0041 &#65; whsec";
    expect(mask(text)).toBe(text);
  });
});
