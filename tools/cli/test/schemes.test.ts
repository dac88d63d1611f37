import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { senders } from "@svc-webhooks/schemes/senders";
import { describe, expect, test } from "vitest";
import { headerFlags, signedBy } from "./scheme-requests.js";
import { cli, newFile, patternOf, start, type Ended } from "./support.js";

const key = "whsec_0123456789abcdef0123456789abcdef";
const event = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
const at = 1_795_000_000;
const time = `--at=${at}`;

const hex = (message: string, secret = key, hash = "sha256") =>
  createHmac(hash, secret).update(message).digest("hex");
const stripeHeader = (body = event, seconds: number | string = at, secret = key) =>
  `Stripe-Signature: t=${seconds},v1=${hex(`${seconds}.${body}`, secret)}`;

/** Runs `verify --explain --json` with a scheme. */
async function explained(
  scheme: string,
  headers: readonly string[],
  body: string,
  secret = key,
  ...args: readonly string[]
) {
  const flags = headers.map((header) => `--header=${header}`);
  const words = ["verify", "--scheme", scheme, "--explain", "--json", "--secret-env=KEY"];
  const { code, stdout } = await cli([...words, ...flags, ...args], {
    input: body,
    env: { KEY: secret },
  });
  return { code, value: JSON.parse(stdout) as Readonly<Record<string, unknown>> };
}

/** Runs a command as it is installed. */
async function installed(args: readonly string[], input: string): Promise<Ended> {
  const { child, ended } = start(args, { KEY: key });
  child.stdin.end(input);
  return ended;
}

test("what sign prints is what verify accepts, in processes of their own", async () => {
  const signed = await installed(
    ["sign", "--scheme", "stripe", "--secret-env", "KEY", time],
    event,
  );
  const header = stripeHeader().replace("Stripe-Signature", "stripe-signature");
  expect(signed).toEqual({ code: 0, stdout: `${header}\n`, stderr: "" });
  const verified = await installed(
    ["verify", "--scheme", "stripe", "--secret-env", "KEY", time, "--header", header],
    event,
  );
  expect(verified).toEqual({
    code: 0,
    stdout: "The signature is genuine.\nOutcome: processed, delivery evt_1, type invoice.paid\n",
    stderr: "",
  });
});

describe.each(Object.values(senders))("$name", ({ name }) => {
  test("verify accepts what the sender signed, and nothing else", async () => {
    const { body, headers, secret } = await signedBy(name);
    const words = ["verify", "--scheme", name, "--secret-env=KEY", ...headerFlags(headers)];
    const genuine = await cli(words, { input: body, env: { KEY: secret } });
    expect(genuine).toMatchObject({ code: 0, stderr: "" });
    expect(genuine.stdout).toMatch(/^The signature is genuine\.\nOutcome: processed, delivery /);
    const altered = await cli(words, { input: `${body} `, env: { KEY: secret } });
    expect(altered).toMatchObject({ code: 1, stderr: "" });
    expect(altered.stdout).toMatch(/^Refused: signature_mismatch\.\n/);
    expect(altered.stdout).toMatch(/\nCause: .+\nFix: {3}.+\nAdd --explain /);
  });

  test("sign prints one header a line, and verify reads them", async () => {
    const { body, secret, signingSecret } = await signedBy(name);
    const env = { KEY: secret, PRIVATE: signingSecret };
    const words = ["--scheme", name, "--id=dlv_1", "--type=invoice.paid"];
    const { stdout } = await cli(["sign", ...words, "--secret-env=PRIVATE"], { input: body, env });
    expect(stdout).toMatch(/^(?:[a-z\d-]+: [!-~]+(?: [!-~]+)?\n)+$/);
    const flags = stdout
      .trimEnd()
      .split("\n")
      .map((line) => `--header=${line}`);
    const verified = await cli(["verify", "--scheme", name, "--secret-env=KEY", ...flags], {
      input: body,
      env,
    });
    expect(verified.code).toBe(0);
  });
});

describe("verify --explain names", () => {
  const base64Secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const standard = (signingKey: string | Uint8Array) => [
    "webhook-id: msg_1",
    `webhook-timestamp: ${at}`,
    `webhook-signature: v1,${createHmac("sha256", signingKey).update(`msg_1.${at}.${event}`).digest("base64")}`,
  ];
  const pretty = JSON.stringify(JSON.parse(event), null, 2);
  const github = `X-Hub-Signature-256: sha256=${hex(event)}`;
  const slackBody = '{"token":"Z26uGK5dlkWmfXEuJFoZ3hxN","event_id":"Ev1"}';

  test.each<[string, string, readonly string[], string, string?]>([
    ["secret_not_decoded", "standard-webhooks", standard(base64Secret), event, base64Secret],
    [
      "secret_not_decoded",
      "standard-webhooks",
      standard(base64Secret.slice(6)),
      event,
      base64Secret,
    ],
    ["sha1_header", "github", [`X-Hub-Signature: sha1=${hex(event, key, "sha1")}`], event],
    ["sha1_header", "github", [`X-Hub-Signature-256: sha1=${hex(event, key, "sha1")}`], event],
    ["other_scheme", "github", [stripeHeader()], event],
    ["time_in_milliseconds", "stripe", [stripeHeader(event, at * 1_000)], event],
    [
      "time_in_milliseconds",
      "slack",
      [
        `X-Slack-Signature: v0=${hex(`v0:${at * 1_000}:${event}`)}`,
        `X-Slack-Request-Timestamp: ${at * 1_000}`,
      ],
      event,
    ],
    ["duplicate_header", "stripe", [stripeHeader(), stripeHeader()], event],
    ["decorated_value", "github", [`X-Hub-Signature-256: "sha256=${hex(event)}"`], event],
    ["body_alone", "stripe", [`Stripe-Signature: t=${at},v1=${hex(event)}`], event],
    [
      "verification_token",
      "slack",
      [`X-Slack-Signature: v0=${hex("x")}`, `X-Slack-Request-Timestamp: ${at}`],
      slackBody,
      "Z26uGK5dlkWmfXEuJFoZ3hxN",
    ],
    ["newline_removed", "stripe", [stripeHeader()], `${event}\n`],
    ["reserialized_json", "stripe", [stripeHeader()], pretty],
    ["pretty_printed_json", "github", [github.replace(hex(event), hex(pretty))], event],
    ["reserialized_json", "standard-webhooks", standard(Buffer.alloc(32, 7)), pretty, base64Secret],
    [
      "secret_prefix_stripped",
      "stripe",
      [`Stripe-Signature: t=${at},v1=${hex(`${at}.${event}`, key.slice(6))}`],
      event,
    ],
    ["stale", "stripe", [stripeHeader(event, at - 900)], event],
    ["stale", "stripe", [stripeHeader(event, at + 900)], event],
  ])("%s (%s)", async (mistake, scheme, headers, body, secret = key) => {
    const { code, value } = await explained(scheme, headers, body, secret, time);
    expect({ code, ...value }).toMatchObject({ code: 1, ok: false, mistake });
    for (const text of [value["happened"], value["cause"], value["fix"]])
      expect(text).toMatch(/^[\w`].+\.$/s);
  });

  test("polar() as the fix for a signature with the text of the secret", async () => {
    const { value } = await explained(
      "standard-webhooks",
      standard(base64Secret),
      event,
      base64Secret,
      time,
    );
    expect(value["fix"]).toMatch(/^If the sender is Polar, use `polar\(\)`/);
  });

  test.each(["discord", "sendgrid", "standard-webhooks-ed25519"] as const)(
    "a body of %s that was formatted, which no HMAC can show",
    async (name) => {
      const { body, headers, secret } = await signedBy(name);
      const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
      for (const changed of [JSON.stringify(JSON.parse(body), null, 2), `${body}\n`]) {
        const { code, value } = await explained(name, lines, changed, secret);
        expect([code, value["mistake"]]).toEqual([1, "body_changed"]);
      }
      const other = await explained(
        name,
        lines,
        body.replace("invoice.paid", "invoice.void"),
        secret,
      );
      expect([other.code, other.value["mistake"]]).toEqual([1, null]);
    },
  );

  test("the scheme of another version of the same header", async () => {
    const { body, headers } = await signedBy("standard-webhooks-ed25519");
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const { value } = await explained("standard-webhooks", lines, body, base64Secret);
    expect(value).toMatchObject({ outcome: "signature_malformed", mistake: "other_scheme" });
    expect(value["fix"]).toContain("--scheme standard-webhooks-ed25519");
  });

  test("the previous secret, and never accepts it", async () => {
    const words = ["verify", "--scheme=stripe", "--explain", "--json", "--secret-env=KEY", time];
    const old = "whsec_before0123456789abcdef01234567";
    const flags = ["--previous-secret-env=OLD", `--header=${stripeHeader(event, at, old)}`];
    const { code, stdout } = await cli([...words, ...flags], {
      input: event,
      env: { KEY: key, OLD: old },
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ mistake: "old_secret" });
  });

  test("by how much a genuine signature is stale, and a mismatch behind a stale time", async () => {
    const { value } = await explained(
      "stripe",
      [stripeHeader(event, at - 7_200)],
      event,
      key,
      time,
    );
    expect(value["cause"]).toContain("about 2 h (7200 s) before");
    const altered = await explained("stripe", [stripeHeader(event, at - 7_200)], pretty, key, time);
    expect(altered.value["mistake"]).toBe("reserialized_json");
  });

  test("the secret of another app of Shopify in words, with what to compare", async () => {
    const header = `X-Shopify-Hmac-SHA256: ${createHmac("sha256", "other").update(event).digest("base64")}`;
    const { value } = await explained("shopify", [header], event, "shpss_0123456789");
    expect(value).toMatchObject({ mistake: null });
    expect(value["next_step"]).toMatch(
      /another app\. This body has 53 bytes, with the SHA-256 [\da-f]{64}\./,
    );
  });
});

describe("verify --scheme prints", () => {
  test.each<[string, string, string, readonly string[], readonly string[]]>([
    [
      "a mistake in the body, with both bodies",
      stripeHeader(),
      `${event}\n`,
      ["--explain"],
      [
        "Refused: signature_mismatch.",
        "…",
        "Log:   …",
        "Cause: …",
        "Fix:   Pass the bytes exactly as they arrived, both to the receiver and to this command. No parser, editor or formatter may change them.",
        "Id:    newline_removed",
        "Body:  53 bytes were signed. The first difference is at byte 54.",
        "  given  …",
        "  signed …",
      ],
    ],
    [
      "what to compare for an unknown mistake",
      stripeHeader(event, at, "whsec_another"),
      event,
      ["--explain"],
      [
        "Refused: signature_mismatch.",
        "…",
        "Log:   …",
        "Cause: …",
        "Fix:   …",
        "Next:  No known mistake explains this. …",
      ],
    ],
    [
      "the cause without --explain",
      stripeHeader(event, at, "whsec_another"),
      event,
      [],
      [
        "Refused: signature_mismatch.",
        "…",
        "Log:   …",
        "Cause: …",
        "Fix:   …",
        "Add --explain to check for common mistakes.",
      ],
    ],
    [
      "the log of a genuine delivery that is refused",
      stripeHeader("{}"),
      "{}",
      ["--explain"],
      [
        "The signature is genuine, but the delivery is refused: delivery_id_missing.",
        "…",
        "Cause: …",
        "Fix:   …",
      ],
    ],
  ])("%s", async (_what, header, body, flags, lines) => {
    const args = ["verify", "--scheme=stripe", "--secret-env=KEY", time, `--header=${header}`];
    expect(await cli([...args, ...flags], { input: body, env: { KEY: key } })).toEqual({
      code: 1,
      stdout: expect.stringMatching(patternOf(lines)),
      stderr: "",
    });
  });
});

test.each([
  ["stripe", "sk_live_1234567890", /whsec_/],
  ["standard-webhooks", "whsec_notbase64", /base64/],
  ["slack", "xoxb-1234567890", /signing secret/],
  ["discord", "00", /public key/],
])("a key of another kind is refused for %s, and not printed", async (scheme, secret, text) => {
  const words = ["verify", "--scheme", scheme, "--secret-env=KEY", "--header=x: y"];
  const { code, stdout, stderr } = await cli(words, { input: event, env: { KEY: secret } });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(text);
  expect(stderr).not.toContain(secret);
});

describe("a captured delivery", () => {
  const capture = (headers: readonly (readonly [string, string])[], body = event) => {
    const file = newFile("capture.jsonl");
    const request = { method: "POST", path: "/", headers, verdict: "signature_missing" };
    const line = { at: new Date(at * 1_000).toISOString(), ...request };
    const json = JSON.stringify({ ...line, body: Buffer.from(body).toString("base64") });
    writeFileSync(file, `${json}\n${json.replace("POST", "PUT")}\n`);
    return file;
  };
  const verifyFile = (file: string, ...args: readonly string[]) =>
    cli(["verify", "--capture", file, "--secret-env=KEY", ...args], { env: { KEY: key } });

  test("of GitHub has its mistake named in one command", async () => {
    const file = capture([["X-Hub-Signature", `sha1=${hex(event, key, "sha1")}`]]);
    const { code, stdout } = await verifyFile(file, "--scheme=github", "--explain");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Refused: signature_missing\.\n[^]*\nId: {4}sha1_header\n$/);
  });

  test("is judged at the time of its arrival, unless --at is given", async () => {
    const [name = "", value = ""] = stripeHeader().split(": ");
    const file = capture([[name, value]]);
    expect((await verifyFile(file, "--scheme=stripe")).code).toBe(0);
    expect((await verifyFile(file, "--scheme=stripe", "--line=2")).code).toBe(0);
    const later = await verifyFile(file, "--scheme=stripe", `--at=${at + 301}`);
    expect([later.code, later.stdout]).toEqual([1, expect.stringContaining("301 s before")]);
  });

  test.each([
    ["a line that does not exist", ["--line=9"], /has no line 9/],
    ["a body too", ["--body=x"], /already contains the headers and the body/],
    ["a line that is no number", ["--line=x"], /--line must be a whole number/],
  ])("is refused with %s", async (_what, args, text) => {
    const { code, stderr } = await verifyFile(capture([]), "--scheme=stripe", ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)]);
  });

  test("with a header of 1 MB is refused in a short text", async () => {
    const file = capture([["stripe-signature", "1795000000".repeat(100_000)]]);
    const { code, stdout } = await verifyFile(file, "--scheme=stripe", "--explain");
    expect([code, stdout.length < 2_000]).toEqual([1, true]);
    expect(stdout).toMatch(/^Refused: signature_malformed\./);
  });
});

describe("hostile input", () => {
  const controls = "\u001b]0;p\u0007\u001b[2J\u202e\u200b\r\nX: y\u0000";

  test.each([
    ["the value of a header", [`--header=Stripe-Signature: ${controls}`]],
    ["a genuine header and an id", [`--header=${stripeHeader()}`, `--header=x: ${controls}`]],
  ])("control characters in %s are not printed", async (_what, flags) => {
    const words = ["verify", "--scheme=stripe", "--explain", "--secret-env=KEY", time, ...flags];
    const { stdout, stderr } = await cli(words, { input: event, env: { KEY: key } });
    expect(stdout + stderr).toMatch(/^[\n -~]+$/);
  });

  test("control characters in the id and the type of a genuine body are not printed", async () => {
    const body = JSON.stringify({ id: "evt_1", type: `invoice.paid${controls} ${key}` });
    const words = ["verify", "--scheme=stripe", "--secret-env=KEY", time];
    const { code, stdout } = await cli([...words, `--header=${stripeHeader(body)}`], {
      input: body,
      env: { KEY: key },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\n -~…]+$/);
    expect(stdout).not.toContain(key);
  });

  test("an empty body and a header of 1 MB end as outcomes", async () => {
    const empty = await explained("stripe", [stripeHeader("")], "", key, time);
    expect(empty).toMatchObject({ code: 1, value: { outcome: "malformed_body", mistake: null } });
    const long = await explained("stripe", [`Stripe-Signature: ${"a".repeat(1_048_576)}`], event);
    expect(long).toMatchObject({ code: 1, value: { outcome: "signature_malformed" } });
  });

  test("a genuine signature of a delivery without an id is not called wrong", async () => {
    const body = "{}";
    const words = ["verify", "--scheme=stripe", "--secret-env=KEY", time];
    const { code, stdout } = await cli([...words, `--header=${stripeHeader(body)}`], {
      input: body,
      env: { KEY: key },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^The signature is genuine, but the delivery is refused: delivery_id_missing/,
    );
  });
});

describe("wrong usage", () => {
  test.each([
    [
      "a misspelt scheme",
      ["sign", "--scheme=strpe"],
      /--scheme cannot be strpe\. Did you mean stripe\? Use /,
    ],
    ["no secret", ["sign", "--scheme=stripe"], /signing secret is missing/],
    [
      "a secret as a flag",
      ["verify", "--scheme=stripe", "--secret=x"],
      /--secret is not supported/,
    ],
    [
      "no header",
      ["verify", "--scheme=stripe", "--secret-env=KEY"],
      /No header was given\. Add --header/,
    ],
    [
      "a header without a colon",
      ["verify", "--scheme=stripe", "--secret-env=KEY", "--header=x"],
      /not have the form/,
    ],
    [
      "a signature with a scheme",
      ["verify", "--scheme=stripe", "--secret-env=KEY", "--signature=x"],
      /--signature is only for the service/,
    ],
    [
      "a header without a scheme",
      ["verify", "--secret-env=KEY", "--header=a: b"],
      /--header needs --scheme/,
    ],
    [
      "a capture with a signature",
      ["verify", "--secret-env=KEY", "--capture=f", "--signature=x"],
      /--capture already contains the signature/,
    ],
    ["a time without a scheme", ["sign", "--secret-env=KEY", "--at=1"], /--at needs --scheme/],
    [
      "a time in milliseconds",
      ["sign", "--scheme=stripe", "--secret-env=KEY", "--at=1795000000000"],
      /--at is in milliseconds/,
    ],
    [
      "a time without a zone",
      ["sign", "--scheme=stripe", "--secret-env=KEY", "--at=2026-11-22T10:00:00"],
      /--at is not a time/,
    ],
    [
      "a day that its month does not have",
      ["sign", "--scheme=stripe", "--secret-env=KEY", "--at=2026-02-30T10:00:00Z"],
      /--at is not a time/,
    ],
    [
      "a key of another kind to sign with",
      ["sign", "--scheme=stripe", "--secret-env=OTHER"],
      /whsec_/,
    ],
    [
      "a secret and a body on stdin",
      ["verify", "--scheme=stripe", "--secret-stdin", "--header=a: b"],
      /--secret-stdin needs --body/,
    ],
  ])("%s", async (_what, args, text) => {
    const { code, stdout, stderr } = await cli(args, {
      env: { KEY: key, OTHER: "sk_live_12345678" },
    });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(text)]);
  });
});
