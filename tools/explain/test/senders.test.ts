import { cpuRatio, linearForTenfold } from "@svc-webhooks/kit/cpu-ratio";
import { sign } from "@svc-webhooks/core";
import { hmac } from "@svc-webhooks/schemes";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { hmacSigner } from "@svc-webhooks/schemes/sign";
import { bundled } from "@svc-webhooks/kit/launch";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { explainRequest, judgeRequest } from "../src/senders.js";

// tools/cli/test/schemes.test.ts has an example of each mistake.

const secret = "whsec_0123456789abcdef0123456789abcdef";
const text = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
const body = new TextEncoder().encode(text);
const at = 1_795_000_000_000;

test("accepts a name or a scheme, and headers in any iterable form", async () => {
  const headers = await senders.stripe.sign(text, { secret, at });
  const genuine = { isGenuine: true, outcome: { code: "processed", type: "invoice.paid" } };
  for (const scheme of ["stripe", senders.stripe.scheme] as const) {
    for (const all of [
      Object.entries(headers),
      new Headers(headers),
      new Map(Object.entries(headers)),
    ]) {
      const request = { scheme, headers: all, body, secret, at };
      expect(await judgeRequest(request)).toMatchObject(genuine);
      const explained = await explainRequest(request);
      expect(explained).toMatchObject(genuine);
      expect(explained).not.toHaveProperty("mistake");
      expect(explained).not.toHaveProperty("next_step");
    }
  }
});

test.each(["the decoded key", "the text"])(
  "finds a mistake in a body that Polar signed with %s",
  async (key) => {
    const { secret: own } = await senders.polar.testKeys();
    const signed =
      key === "the text"
        ? senders["standard-webhooks"].sign(text, { secret: btoa(own), at })
        : senders.polar.sign(text, { secret: own, at });
    const { mistake } = await explainRequest({
      scheme: "polar",
      headers: Object.entries(await signed),
      body: new TextEncoder().encode(`${text}\n`),
      secret: own,
      at,
    });
    expect(mistake?.id).toBe("newline_removed");
  },
);

test("has the details that the receiver logs for the outcome, without those of its other lines", async () => {
  const headers = Object.entries(await senders.github.sign(text, { secret }));
  const request = { scheme: "github", headers, secret } as const;
  // The first verified delivery has a line of its own: GitHub does not sign the id.
  expect(await judgeRequest({ ...request, body })).toMatchObject({
    outcome: { code: "processed" },
    details: "",
  });
  expect(await judgeRequest({ ...request, body: body.slice(1) })).toMatchObject({
    outcome: { code: "signature_mismatch" },
    details: expect.stringMatching(/^Fingerprints of `secret`: default: \w+\.$/) as string,
  });
});

test("explains a scheme that hmac describes", async () => {
  const options = {
    name: "Own",
    header: "own-signature",
    encoding: "base64",
    id: "own-id",
  } as const;
  const headers = Object.entries(
    await hmacSigner(options)(JSON.stringify(JSON.parse(text), null, 2), { secret }),
  );
  const { mistake } = await explainRequest({ scheme: hmac(options), headers, body, secret });
  expect(mistake).toMatchObject({ id: "pretty_printed_json", body_difference: { at: 1 } });
});

test("names the sender whose scheme fits, and uses the time of arrival", async () => {
  const headers = Object.entries(await senders.stripe.sign(text, { secret, at }));
  expect(await explainRequest({ scheme: "github", headers, body, secret })).toMatchObject({
    outcome: { code: "signature_missing" },
    mistake: { id: "other_scheme", sender: "stripe" },
  });
  expect(await explainRequest({ scheme: "stripe", headers, body, secret })).toMatchObject({
    outcome: { code: "signature_stale" },
    mistake: { id: "stale" },
  });
});

test("recognizes a delivery of the service, which has no scheme", async () => {
  const headers = [["X-SVC-Signature", await sign(text, secret)]] as const;
  const { outcome, mistake } = await explainRequest({ scheme: "stripe", headers, body, secret });
  expect(outcome).toMatchObject({ code: "signature_missing" });
  expect(mistake).toMatchObject({
    id: "other_scheme",
    cause: "The request has X-SVC-Signature, the signature header of the service itself.",
  });
  expect(mistake).not.toHaveProperty("sender");
});

test("states what to compare if no known mistake explains a refusal", async () => {
  const headers = Object.entries(await senders.stripe.sign(text, { secret: `${secret}0`, at }));
  const explained = await explainRequest({ scheme: "stripe", headers, body, secret, at });
  expect(explained).not.toHaveProperty("mistake");
  expect(explained.next_step).toMatch(/^Each Stripe endpoint .+ 53 bytes, with the SHA-256 /);
  expect(JSON.stringify(explained)).not.toContain(secret.slice(6));
});

test.each(["signature_missing", "signature_malformed"])(
  "suspects no secret if the outcome is %s",
  async (code) => {
    const headers = [[code === "signature_missing" ? "x" : "stripe-signature", "x"]] as const;
    const explained = await explainRequest({ scheme: "stripe", headers, body, secret, at });
    expect(explained).toMatchObject({ outcome: { code } });
    expect(explained).not.toHaveProperty("mistake");
    expect(explained).not.toHaveProperty("next_step");
  },
);

/** Nested arrays: indented, this JSON has a thousand times its length. */
const nested = `[${`${"[".repeat(490)}1${"]".repeat(490)},`.repeat(400)}1]`;
/** The same with texts whose brackets are no nesting. */
const bracketed = nested.replaceAll(",", `,"${"]".repeat(490)}",`);
/** JSON of the same length without nesting. */
const flat = `[${"1,".repeat(nested.length / 2 - 1)}1]`;
const spaceIn = (count: number) => ({ "x-hub-signature-256": `x${" ".repeat(count)}x` });
const discordHeaders = {
  "x-signature-ed25519": "a".repeat(128),
  "x-signature-timestamp": String(at / 1_000),
};

/** Explains a request that no mistake explains. */
const unexplained =
  (scheme: "github" | "discord", headers: Readonly<Record<string, string>>, sent: string) =>
  async () => {
    const key = scheme === "discord" ? (await senders.discord.testKeys()).secret : secret;
    const { mistake } = await explainRequest({
      scheme,
      headers: Object.entries(headers),
      body: new TextEncoder().encode(sent),
      secret: key,
      at,
    });
    expect(mistake).toBeUndefined();
  };

test("takes linear time for white space in a header", async () => {
  const of = (count: number) => unexplained("github", spaceIn(count), text);
  expect(await cpuRatio(of(50_000), of(5_000))).toBeLessThan(linearForTenfold);
});

test("takes about as long for nested JSON as for flat JSON of its length", async () => {
  const of = (sent: string) => unexplained("discord", discordHeaders, sent);
  expect(await cpuRatio(of(nested), of(flat))).toBeLessThan(10);
  expect(await cpuRatio(of(bracketed), of(flat))).toBeLessThan(10);
});

test("finds a body that was parsed and serialized again behind a public key", async () => {
  const { secret: key, signingSecret } = await senders.discord.testKeys();
  for (const indent of [undefined, 2, 4]) {
    const signed = JSON.stringify(JSON.parse(text), null, indent);
    const headers = Object.entries(
      await senders.discord.sign(signed, { secret: signingSecret, at }),
    );
    const changed = new TextEncoder().encode(text.replace(":", ": "));
    const request = { scheme: "discord", headers, body: changed, secret: key, at } as const;
    expect(await explainRequest(request)).toMatchObject({ mistake: { id: "body_changed" } });
  }
});

describe.each([1, 2])("a list of %d events, each on its line", (count) => {
  const events = Array.from({ length: count }, (_, id) => ({ id, event: "dropped" }));
  const sent = `[${events.map((one) => JSON.stringify(one)).join(",\r\n")}]\r\n`;

  test.each([
    ["the last line break was removed", sent.trimEnd()],
    ["CRLF became LF", sent.replaceAll("\r\n", "\n")],
    ["CRLF became LF, without the last one", sent.replaceAll("\r\n", "\n").trim()],
    ["it was parsed and serialized again", JSON.stringify(events)],
  ])("has changed if %s", async (_what, arrived) => {
    const { secret: key, signingSecret } = await senders.sendgrid.testKeys();
    const headers = Object.entries(
      await senders.sendgrid.sign(sent, { secret: signingSecret, at: Date.now() }),
    );
    const changed = new TextEncoder().encode(arrived);
    const request = { scheme: "sendgrid", headers, body: changed, secret: key } as const;
    expect(await explainRequest(request)).toMatchObject({ mistake: { id: "body_changed" } });
  });
});

test.each(["SHA-1", "SHA-512"] as const)(
  "does not advise SHA-256 if the scheme uses %s",
  async (hash) => {
    const options = { name: "Own", header: "own-signature", encoding: "hex", hash } as const;
    const old = "an old secret";
    const headers = Object.entries(await hmacSigner(options)(text, { secret: old }));
    const request = { scheme: hmac(options), headers, body, secret, previousSecrets: [old] };
    expect(JSON.stringify(await explainRequest(request))).not.toMatch(/SHA-(?:1|256\.|512)/);
    const other = Object.entries(await hmacSigner(options)(`${text}\n`, { secret }));
    expect(await explainRequest({ ...request, headers: other })).toMatchObject({
      mistake: { id: "body_changed" },
    });
  },
);

test("explains the bytes at the time of the call", async () => {
  const headers = Object.entries(await senders.stripe.sign(text, { secret, at }));
  const reused = Buffer.from(text);
  const promise = explainRequest({ scheme: "stripe", headers, body: reused, secret, at });
  reused.fill(0);
  expect((await promise).isGenuine).toBe(true);
});

test.each([
  ["an unknown sender", { scheme: "strpe" as SenderName }, /stripe, github/],
  ["a sender with the name of a member of objects", { scheme: "toString" as SenderName }, /stripe/],
  ["a scheme that is null", { scheme: null as never }, /stripe, github/],
  ["a body that is a text", { body: text as never }, /must be the bytes/],
  ["a time that is not finite", { at: NaN }, /`at` must be a time in epoch milliseconds/],
  ["headers that are an object", { headers: {} as never }, /must be a list of names and values/],
  ["headers that are missing", { headers: undefined as never }, /must be a list/],
  ["a header without a value", { headers: [["a"]] as never }, /a name and a value, both strings/],
  ["a header that is a text", { headers: ["ab"] as never }, /a name and a value, both strings/],
  ["a header that is null", { headers: [null] as never }, /a name and a value, both strings/],
  ["an empty secret", { secret: "" }, /secret/],
  ["a secret of another kind", { secret: "sk_live_1" }, /whsec_/],
  ["a previous secret of another kind", { previousSecrets: ["sk_live_1"] }, /previous secret/],
  [
    "previous secrets that are null",
    { previousSecrets: null as never },
    /must be a list of secrets/,
  ],
  ["previous secrets that are a text", { previousSecrets: secret as never }, /must be a list/],
])("rejects %s", async (_what, wrong, message) => {
  const request = { scheme: "stripe" as const, headers: [], body, secret, ...wrong };
  await expect(explainRequest(request)).rejects.toMatchObject({
    name: "ConfigError",
    message: expect.stringMatching(message),
  });
});

test("rejects a missing request", async () => {
  for (const explained of [explainRequest, judgeRequest])
    await expect(explained(undefined as never)).rejects.toMatchObject({ option: "scheme" });
});

test("the main entry contains no scheme", async () => {
  const entry = fileURLToPath(new URL("../src/index.ts", import.meta.url));
  expect(await bundled(entry, "browser")).not.toContain("stripe-signature");
});
