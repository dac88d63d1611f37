import { describe, expect, test } from "vitest";
import { hmac } from "../src/index.js";
import { senders as known, type SenderName } from "../src/senders.js";
import { receiving, sender, senders, sendersWith } from "./support.js";

const refused = expect.objectContaining({ code: "invalid_secret", option: "secret" });

/** Builds a receiver, and returns the error that it throws. */
function errorOf(name: SenderName, secret: unknown): Error | undefined {
  try {
    receiving(sender(name).scheme(), { secret: secret as string });
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

describe.each(senders)("$name", ({ name, scheme }) => {
  test("accepts its own keys, a list of them, and their bytes", async () => {
    const first = await known[name].testKeys();
    const second = await known[name].testKeys();
    expect(errorOf(name, first.secret)).toBeUndefined();
    expect(errorOf(name, [first.secret, { id: "old", key: second.secret }])).toBeUndefined();
    const bytes = scheme().keyBytes?.(first.secret, "secret");
    expect(errorOf(name, bytes)).toBeUndefined();
  });

  test.each([
    "",
    "undefined",
    "null",
    "NaN",
    "[object Object]",
    " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
    '"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"',
    "'secret'",
    "secret \ud800",
    undefined,
    null,
    7,
    new Uint8Array(0),
    new Uint8Array(32),
  ])("refuses %j when the receiver is built", (secret) => {
    expect(errorOf(name, secret)).toEqual(expect.objectContaining({ code: "invalid_secret" }));
  });

  test("no error contains the key", () => {
    for (const key of ["xoxb-confidential ", "'confidential'", "confidential\ud800"]) {
      expect(errorOf(name, key)?.message).not.toContain("confidential");
    }
  });
});

/** Keys of the sender, or of another one, that a scheme must not take. */
const wrong: readonly [SenderName, string, string][] = [
  ["standard-webhooks", "whpk_MCowBQYDK2VwAyEAdGVzdGtleXRlc3RrZXl0ZXN0a2V5dGU=", "a public key"],
  ["standard-webhooks", "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a private key"],
  ["standard-webhooks", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a key without its prefix"],
  ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "base64 without padding"],
  ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-_", "base64 for URLs"],
  ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjU PD8ILPZIo2LaLaSw", "base64 with a space"],
  ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLQ==", "23 bytes"],
  ["standard-webhooks", `whsec_${Buffer.alloc(65, 1).toString("base64")}`, "65 bytes"],
  ["svix", "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a public key"],
  ["standard-webhooks-ed25519", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a secret"],
  ["standard-webhooks-ed25519", `whsk_${Buffer.alloc(32, 1).toString("base64")}`, "a private key"],
  ["standard-webhooks-ed25519", `whpk_${Buffer.alloc(31, 1).toString("base64")}`, "31 bytes"],
  ["standard-webhooks-ed25519", `whpk_${Buffer.alloc(64, 1).toString("base64")}`, "64 bytes"],
  ["stripe", "sk_live_1234567890", "an API key"],
  ["stripe", "rk_live_1234567890", "a restricted key"],
  ["stripe", "whsec_", "only the prefix"],
  ["slack", "xoxb-1234567890", "a token of a bot"],
  ["slack", "xapp-1-A1234567890", "a token of an app"],
  ["shopify", "shpat_1234567890", "an access token"],
  ["paddle", "pdl_live_apikey_1234567890", "an API key"],
  ["paddle", "pdl_sdbx_apikey_1234567890", "an API key of the sandbox"],
  ["linear", "lin_api_1234567890", "an API key"],
  ["linear", "lin_oauth_1234567890", "an OAuth token"],
  ["discord", "1".repeat(62), "31 bytes"],
  ["discord", "1".repeat(66), "33 bytes"],
  ["discord", "z".repeat(64), "what is not hex digits"],
  ["sendgrid", "SG.1234567890.1234567890", "an API key"],
  ["sendgrid", Buffer.alloc(91, 1).toString("base64"), "91 bytes that are not a key"],
  ["sendgrid", Buffer.alloc(32, 1).toString("base64"), "32 bytes"],
];

describe("a key of another kind", () => {
  test.each(wrong)("%s refuses %s, which is %s", (name, secret) => {
    const error = errorOf(name, secret);
    expect(error).toEqual(refused);
    if (secret.length > 8) expect(error?.message).not.toContain(secret);
  });

  test("sendgrid refuses a private key", async () => {
    const { signingSecret } = await known.sendgrid.testKeys();
    expect(errorOf("sendgrid", signingSecret)).toEqual(refused);
  });

  test("the private keys of the asymmetric senders are refused by their own schemes", async () => {
    for (const { name } of sendersWith(({ name: one }) =>
      /^(?:standardWebhooksEd|sendgrid)/.test(one),
    )) {
      expect(errorOf(name, (await known[name].testKeys()).signingSecret)).toEqual(refused);
    }
  });
});

describe("the keys of hmac", () => {
  const scheme = (key?: "utf8" | "base64" | "hex") =>
    hmac({ name: "acme", header: "x-acme", encoding: "hex", key });

  test.each([
    [undefined, "any text"],
    ["utf8", "any text"],
    ["base64", "YW55IHRleHQ="],
    ["hex", "616e792074657874"],
  ] as const)("of %s are read from %j", (key, secret) => {
    const bytes = scheme(key).keyBytes?.(secret, "secret") ?? new Uint8Array();
    expect(Buffer.from(bytes).toString()).toBe("any text");
  });

  test.each([
    ["base64", "YW55IHRleHQ"],
    ["base64", "any text"],
    ["hex", "616"],
    ["hex", "any text"],
  ] as const)("of %s are not read from %j", (key, secret) => {
    expect(() => receiving(scheme(key), { secret })).toThrow(refused);
  });
});

describe("a damaged key of Standard Webhooks is refused with a text that names the damage", () => {
  const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8+/w==";
  const version = "`secret` begins with `v1,`, the version of a signature. Remove it.";
  const contains = (text: string) =>
    `\`secret\` contains ${JSON.stringify(text)}, which is not base64. Pass one key alone, or a list.`;
  const containsInvisible = (codePoint: string) => `\`secret\` contains ${codePoint}, which is`;

  test.each([
    ["the version of the signature", `v1,${key}`, version],
    ["several keys with the version", `v1,${key}|v1,${key}`, version],
    ["several keys with a bar", `${key}|${key}`, contains("|")],
    ["several keys with a space", `${key} ${key}`, contains(" ")],
    ["several keys with a comma", `${key},${key}`, contains(",")],
    ["several keys on lines", `${key}\r\n${key}`, contains("\r")],
    ["a quote around it", `"${key}"`, contains('"')],
    ["a quote after the prefix", key.replace("_", "_'"), contains("'")],
    ["a line break at its end", `${key}\n`, contains("\n")],
    ["white space in it", key.replace("GKY", "G Y"), contains(" ")],
    ["the text of a line break", `${key}\\n`, contains("\\")],
    ["percent-encoding", encodeURIComponent(key), contains("%")],
    ["base64 for URLs, -", key.replace("+", "-"), contains("-")],
    ["base64 for URLs, _", key.replace("/", "_"), contains("_")],
    ["a doubled prefix", `whsec_${key}`, contains("whsec_")],
    ["a no-break space", `${key}\u00a0`, containsInvisible("U+a0")],
    ["a zero-width space", `${key}\u200b`, containsInvisible("U+200b")],
    ["a mark of direction", key.replace("_", "_\u200e"), containsInvisible("U+200e")],
    ["no prefix", key.slice(6), "`secret` is not whsec_ followed by 24 to 64 bytes in base64."],
    ["no padding", key.replace(/=+$/, ""), "`secret` is not whsec_ followed by 24 to 64 bytes"],
  ])("%s", (_what, damaged, text) => {
    for (const name of ["standard-webhooks", "svix"] as const) {
      const error = errorOf(name, damaged);
      expect(error).toEqual(refused);
      expect(error?.message.slice(0, text.length)).toBe(text);
      expect(error?.message).not.toContain("MfKQ9r8");
    }
  });

  test.each([
    ["v1a,whpk_MfKQ9r8=", version.replace("`v1,`", "`v1a,`")],
    ["whpk_MfKQ9r8= whpk_MfKQ9r8=", contains(" ")],
    ["whpk_whpk_MfKQ9r8=", contains("whpk_")],
  ])("public keys too: %s", (damaged, text) => {
    expect(errorOf("standard-webhooks-ed25519", damaged)?.message.startsWith(text)).toBe(true);
  });
});
