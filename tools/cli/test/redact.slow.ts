import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { verify } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { root } from "@svc-webhooks/kit/programs";
import { senders, service } from "@svc-webhooks/schemes/senders";
import { freePort } from "@svc-webhooks/kit/free-port";
import { until } from "@svc-webhooks/kit/until";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRedactor } from "../src/redact/redactor.js";
import { testSecretOf } from "../src/redact/test-secret.js";
import { captureFile, savedIn, type Saved } from "./capturing.js";
import { deliver, listening, target } from "./listening.js";
import { signedBy } from "./scheme-requests.js";
import { cli, newFile } from "./support.js";
import { visible } from "./visible.js";

/** Redacts a capture file. */
async function redactFile(file: string, ...flags: readonly string[]) {
  const out = newFile("fixtures");
  const result = await cli(["redact", file, "--out", out, ...flags]);
  const written = join(out, "deliveries.jsonl");
  const text = existsSync(written) ? readFileSync(written, "utf8") : "";
  return { ...result, written, text, saved: savedIn(text) };
}

/** A fixed key: a random one may make a substitute that contains a short value by chance. */
const key = Buffer.alloc(32, 7);

/** Returns a redacted JSON text. */
const redacted = (text: string, keep: readonly string[] = []): string =>
  createRedactor({ keep, key }).json(text);

const redactedValue = (value: unknown, keep?: readonly string[]): unknown =>
  JSON.parse(redacted(JSON.stringify(value), keep));

const email = "ada.lovelace@corp-mail.io";
const jwt = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"ada-the-subject"}').toString("base64url")}.c2lnbmF0dXJl`;

/** An event of the service, with personal data where real ones have it. */
const emailSent = {
  event_id: "evt_1",
  type: "email.sent",
  data: {
    email_id: "msg_4eC39HqL",
    related: "evt_1",
    from: "Ada Lovelace <ada.lovelace@corp-mail.io>",
    recipients: { to: ["grace.hopper@navy.mil"] },
    subject: "Receipt for Augusta Byron",
    status: "sent",
    created_at: "2026-01-01T00:00:00.000Z",
    phone: "+1 555 867 5309",
    mobile: 15_558_675_309,
    ip: "203.0.113.77",
    web: "https://carol:hunter2pass@shop.test/reset?token=resetme12345&page=2",
    address: { line1: "12 Dorset Street", zip: "W1U6QJ" },
    born: { date_of_birth: "1815-12-10" },
    nested: JSON.stringify({ type: "x.y", user: { email: "nested@corp-mail.io" } }),
    jwt_in_text: `it was ${jwt} then`,
    by_address: { [email]: { seen: true } },
    attempts: 3,
  },
};

const places = [
  "Ada Lovelace",
  "corp-mail",
  "grace.hopper",
  "4eC39HqL",
  "Augusta",
  "867 5309",
  "5558675309",
  "203.0.113.77",
  "hunter2pass",
  "shop.test",
  "resetme12345",
  "Dorset",
  "W1U6QJ",
  "1815-12-10",
  "ada-the-subject",
  "hooks.corp.test",
  "pathtoken12345678",
  "192.0.2.44",
  "cookievalue",
  "authvalue",
];

const strictEvent = z.object({
  event_id: z.literal("evt_1"),
  type: z.enum(["email.sent"]),
  data: z.strictObject({
    email_id: z.string().regex(/^msg_[A-Za-z\d]{8}$/),
    related: z.literal("evt_1"),
    from: z.string().regex(/^\w+ \w+ <[^<>@]+@example\.test>$/),
    recipients: z.object({ to: z.array(z.email()) }),
    subject: z.string().length(25),
    status: z.string(),
    created_at: z.literal("2026-01-01T00:00:00.000Z"),
    phone: z.string().regex(/^\+\d \d{3} \d{3} \d{4}$/),
    mobile: z.int().gte(10_000_000_000),
    ip: z.ipv4(),
    web: z.url(),
    address: z.object({ line1: z.string().regex(/^\d+ /), zip: z.string().length(6) }),
    born: z.object({ date_of_birth: z.iso.date() }),
    nested: z
      .string()
      .transform((text) => z.looseObject({ type: z.literal("x.y") }).parse(JSON.parse(text))),
    jwt_in_text: z.string(),
    by_address: z.record(z.email(), z.object({ seen: z.literal(true) })),
    attempts: z.int().min(1),
  }),
});

testPosix("a capture keeps its structure and its delivery ids, and none of its data", async () => {
  const body = JSON.stringify(emailSent, null, 2);
  const file = await captureFile({
    body,
    path: "/hooks/pathtoken12345678?email=header%40corp-mail.io&v=2",
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Length", String(Buffer.byteLength(body))],
      ["X-SVC-Event-Id", "evt_1"],
      ["X-SVC-Attempt", "2"],
      ["X-Sender", "header@corp-mail.io"],
      ["X-Forwarded-For", "192.0.2.44"],
      ["Cookie", "cookievalue"],
      ["X-Auth-Token", "authvalue"],
    ],
  });
  const { code, stdout, saved, written } = await redactFile(file);
  expect(code).toBe(0);
  const [one] = saved;
  if (!one) throw new Error("nothing was saved");
  const after = visible(JSON.stringify(one) + one.body);
  expect(places.filter((place) => after.includes(place.toLowerCase()))).toEqual([]);

  const signature = one.headers.find(([name]) => name === "X-SVC-Signature")?.[1];
  expect(await verify(one.body, signature, "whsec_test")).toMatchObject({ ok: true });
  expect(stdout).toContain("whsec_test");
  expect(one.headers).toEqual([
    ["Host", "localhost"],
    ["X-SVC-Signature", signature],
    ["X-SVC-Delivery-Id", "dlv_1"],
    ["Content-Type", "application/json"],
    ["Content-Length", String(Buffer.byteLength(one.body))],
    ["X-SVC-Event-Id", "evt_1"],
    ["X-SVC-Attempt", "2"],
  ]);
  const fixture: unknown = JSON.parse(one.body);
  expect(emailEvents["email.sent"].safeParse(fixture).success).toBe(true);
  expect(strictEvent.safeParse(fixture).error).toBeUndefined();
  expect(one.body.match(/^ +"\w+"/gm)?.length).toBe(body.match(/^ +"\w+"/gm)?.length);
  expect(statSync(written).mode & 0o777).toBe(0o600);
});

test("the output lists the names under which values stayed", async () => {
  const file = await captureFile({
    body: JSON.stringify(emailSent),
    headers: [["X-Tenant", "acme"]],
  });
  const flags = ["--keep", "status", "--keep", "address", "--keep", "x-tenant"];
  const { stdout } = await redactFile(file, "--json", ...flags);
  const { kept } = JSON.parse(stdout) as { readonly kept: unknown };
  expect(kept).toEqual([
    { name: "x-svc-delivery-id", count: 1 },
    { name: "x-tenant", count: 1 },
    { name: "type", count: 2 },
    { name: "status", count: 1 },
    { name: "created_at", count: 1 },
    { name: "address", count: 2 },
  ]);
  const { stdout: text, saved } = await redactFile(file, ...flags);
  expect(text).toContain("type (2), status (1), created_at (1), address (2)");
  expect(saved[0]?.headers).toContainEqual(["X-Tenant", "acme"]);
  expect(saved[0]?.body).toContain('"address":{"line1":"12 Dorset Street","zip":"W1U6QJ"}');
});

describe("the signature, credentials and headers of proxies are not saved", () => {
  test.each([
    ["X-Hub-Signature", "sha1=abc"],
    ["Authorization", "Bearer abcdef123456"],
    ["Proxy-Authorization", "Basic abcdef"],
    ["Cookie", "a=b"],
    ["Set-Cookie", "a=b"],
    ["X-Api-Key", "abcdef123"],
    ["X-Amz-Security-Token", "abcdef123"],
    ["Content-Digest", "sha-256=:abc=:"],
    ["X-Forwarded-For", "192.0.2.1"],
    ["Forwarded", "for=192.0.2.1"],
    ["CF-Connecting-IP", "192.0.2.1"],
    ["x-signature", "abc"],
  ])("%s", async (name, value) => {
    const file = await captureFile({ body: "{}", headers: [[name, value]] });
    const { saved } = await redactFile(file);
    expect(saved[0]?.headers.map(([one]) => one)).toEqual([
      "Host",
      "X-SVC-Signature",
      "X-SVC-Delivery-Id",
    ]);
    const [original] = savedIn(readFileSync(file, "utf8"));
    const signatureOf = (one: Saved | undefined) =>
      one?.headers.find(([header]) => header === "X-SVC-Signature")?.[1];
    expect(signatureOf(saved[0])).toMatch(/^sha256=/);
    expect(signatureOf(saved[0])).not.toBe(signatureOf(original));
  });
});

test.each([
  ["application/json; charset=utf-8", "application/json; charset=utf-8"],
  ["application/json; from=ada@corp.io", "application/json"],
])("the content type %s becomes %s", async (type, expected) => {
  const headers = [["Content-Type", type]] as const;
  const { saved } = await redactFile(await captureFile({ body: "{}", headers }));
  expect(saved[0]?.headers).toContainEqual(["Content-Type", expected]);
});

describe("what stays", () => {
  test.each([
    ["event types", { type: "customer.subscription.updated", object: "event", event_type: "x" }],
    ["event types with slashes and a version", { event: "orders/create", type: "v2.core.updated" }],
    ["types that are numbers", { type: 1, event: { type: "APPLICATION_AUTHORIZED" } }],
    ["actions", { action: "opened", type: "IssueLabel" }],
    [
      "times",
      { created: 1_764_150_000, timestamp: 1_764_150_000_123, event_time: "1515449522.000016" },
    ],
    [
      "times as text",
      { created_at: "2026-11-26T19:21:50.123+01:00", sentAt: "Thu, 26 Nov 2026 19:21:50 GMT" },
    ],
    [
      "values that identify nobody",
      { a: true, b: false, c: null, d: 0, e: 1, f: "", g: " ", h: [], i: {} },
    ],
  ])("%s", (_what, value) => {
    expect(redactedValue(value)).toEqual(value);
  });
});

describe("what goes although its name is structural", () => {
  test.each([
    { type: "Zebulon Quux" },
    { type: "user.77" },
    { object: "ada@corp.io" },
    { event: 4711 },
    { action: "hunter2hunter" },
    { created: 5_558_675_309 },
    { created_at: "1985-12-10" },
    { timestamp: "yesterday" },
    { birth_date: "1985-12-10T00:00:00Z" },
  ])("%j", (value) => {
    const [before] = Object.values(value);
    expect(Object.values(redactedValue(value) as object)).not.toContain(before);
  });
});

describe("enumerations of the schemas stay, under their names only", () => {
  const schemas = `import { z } from "zod";
    const status = z.enum(["past_due", "paid-2"]);
    const node = z.object({ status, get next() { return z.optional(node); } });
    export const events = { paid77: z.object({
      type: z.literal("paid77"), level: z.union([z.literal(3), z.literal(5)]), list: z.array(status), x2y2: z.string(), node,
    }) };`;
  const body = {
    type: "paid77",
    level: 5,
    list: ["past_due", "paid-2"],
    x2y2: "paid-2",
    node: { status: "past_due", next: { status: "paid-2" } },
  };

  test("in a fixture that has no drift", async () => {
    const module = newFile("schemas.mjs");
    writeFileSync(module, schemas);
    const file = await captureFile({ body: JSON.stringify(body) });
    const { saved, written } = await redactFile(file, "--schemas", module);
    const after = JSON.parse(saved[0]?.body ?? "") as typeof body;
    expect(after).toEqual({ ...body, x2y2: after.x2y2 });
    expect(after.x2y2).not.toBe("paid-2");
    const flags = ["--schemas", module, "--json"];
    for (const one of [file, written]) {
      const { stdout } = await cli(["drift", one, ...flags]);
      expect(JSON.parse(stdout)).toMatchObject({ deliveries: 1, drift: [] });
    }
  });

  test("and not without them", async () => {
    const { saved } = await redactFile(await captureFile({ body: JSON.stringify(body) }));
    expect(saved[0]?.body).not.toMatch(/past_due|paid-2|paid77/);
  });
});

describe("the names of entries in a map are replaced, and those of fields stay", () => {
  test.each([
    [
      "firstName",
      "first_name",
      "First-Name",
      "line_10",
      "last4",
      "sha256Hash",
      "@type",
      "__v",
      "URL",
    ],
    ["data"],
  ])("%j", (...names) => {
    const value = Object.fromEntries(names.map((name) => [name, true]));
    expect(redactedValue(value)).toEqual(value);
  });

  test.each([
    { "ada@corp.io": 0, Ada: 0 },
    { "Zebulon Quux": 0 },
    { zebq77: 0 },
    { "+14155552671": 0 },
    { "3f2504e0-4f89-41d3-9a0c-0305e82c3301": 0, a: 0 },
    { AbCdEf123456: 0 },
    { "corp.io": 0, type: "x" },
    { "": 0, " ": 0, "0": 0, "1": 0, "2": 0 },
  ])("%j", (value) => {
    const names = Object.keys(value).filter((name) => name !== "type");
    const after = Object.keys(redactedValue(value) as object);
    expect(names.filter((name) => after.includes(name))).toEqual([]);
    expect(after.length).toBe(Object.keys(value).length);
  });
});

describe("what is not replaced keeps its bytes", () => {
  test.each([
    ["a byte order mark", '\ufeff{"email":"', '"}'],
    ["names that occur twice", '{"a":1,"a":0,"email":"', '","a":null}'],
    ["precise numbers", '{"n":1.00,"m":-0.0000,"email":"', '"}'],
    ["white space and escapes", '{ "x" : "\\u0020\\t" ,\r\n\t"email":"', '" }\n'],
    ["deep nesting", `${'{"a":['.repeat(5_000)}"`, `"${"]}".repeat(5_000)}`],
  ])("%s", async (_what, before, after) => {
    const { saved } = await redactFile(await captureFile({ body: before + email + after }));
    const body = saved[0]?.body ?? "";
    expect(body.startsWith(before)).toBe(true);
    expect(body.endsWith(after)).toBe(true);
    expect(body.slice(before.length, -after.length)).toMatch(/^user-[\da-f]{12}@example\.test$/);
  });

  test("both values of a name that occurs twice are replaced", () => {
    const text = redacted('{"email":"a@corp.io","email":"b@corp.io"}');
    expect(text).toMatch(/^\{"email":"user-\w+@example\.test","email":"user-\w+@example\.test"\}$/);
  });
});

describe("a request that cannot be redacted is left out with a reason", () => {
  test.each([
    ["a compressed body", gzipSync("{}"), [["Content-Encoding", "gzip"]], /compressed/],
    ["a body in another encoding", Buffer.from([0xff, 0xfe, 0x7b]), [], /not UTF-8/],
    ["a body that is not JSON", "<a>ada@corp.io</a>", [], /neither JSON nor/],
    ["JSON that ends early", '{"a":"ada@corp.io"', [], /neither JSON nor/],
  ] as const)("%s", async (_what, body, headers, reason) => {
    const file = await captureFile({ body, headers }, { body: "{}" });
    const { code, stderr, saved } = await redactFile(file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/line 1 was left out\./);
    expect(stderr).toMatch(reason);
    expect(saved.map((one) => one.body)).toEqual(["{}"]);
  });

  test("a forgery stays out, and is not an error", async () => {
    const forged = { body: "{}", verdict: "signature_mismatch" };
    const { code, stderr, saved } = await redactFile(await captureFile(forged, { body: "[]" }));
    expect([code, saved.map((one) => one.body)]).toEqual([0, ["[]"]]);
    expect(stderr).toMatch(/not accepted as genuine/);
  });
});

test("an HTML form keeps the names of its fields", async () => {
  const payload = encodeURIComponent(
    JSON.stringify({ user: { email: "zoepherine@corp.io" }, type: "x" }),
  );
  const body = `token=gIkuvaNzQIHg97ATvDxqgjtO&team_id=T0001&user_name=steve+jobs&text=94070&zoepherine%40corp.io=1&payload=${payload}`;
  const file = await captureFile({
    body,
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
  });
  const { saved } = await redactFile(file, "--keep", "team_id");
  const fields = new URLSearchParams(saved[0]?.body);
  expect(saved[0]?.body).not.toMatch(/gIkuva|steve|jobs|94070|zoepherine/);
  expect(Array.from(fields.keys())).toMatchObject([
    "token",
    "team_id",
    "user_name",
    "text",
    expect.anything(),
    "payload",
  ]);
  expect(fields.get("team_id")).toBe("T0001");
  expect(fields.get("user_name")).toMatch(/^[a-z]{5} [a-z]{4}$/);
  expect(JSON.parse(fields.get("payload") ?? "")).toMatchObject({ type: "x" });
});

test("JSON with the content type of a form is redacted as JSON", async () => {
  const file = await captureFile({
    body: '{"note":"x&alicesmith&hunter","p":"a=b&secretword=1"}',
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
  });
  const { saved } = await redactFile(file);
  expect(saved[0]?.body).toMatch(/^\{"note":"[a-z]&[a-z]{10}&[a-z]{6}","p":"[^"]+"\}$/);
  expect(saved[0]?.body).not.toMatch(/alice|hunter|secret/);
});

describe("equal values have equal substitutes", () => {
  const emailsOf = (text: string) => text.match(/user-[\da-f]+@example\.test/g) ?? [];

  test("within a request and across files of one run, but not in another run", async () => {
    const files = [
      await captureFile({ body: '{"email":"ada@corp.io","text":"to ada@corp.io"}' }),
      newFile("more.jsonl"),
    ] as const;
    writeFileSync(files[1], readFileSync(await captureFile({ body: '["ada@corp.io"]' })));
    const run = async () => {
      const out = newFile("fixtures");
      await cli(["redact", ...files, "--out", out]);
      return ["deliveries.jsonl", "more.jsonl"].flatMap((name) =>
        savedIn(readFileSync(join(out, name), "utf8")).flatMap(({ body }) => emailsOf(body)),
      );
    };
    const [one, other] = [await run(), await run()];
    expect(one.length).toBe(3);
    expect(new Set(one).size).toBe(1);
    expect(new Set(other).size).toBe(1);
    expect(one[0]).not.toBe(other[0]);
  });

  test("under any name, and as a number", () => {
    const all = {
      name: "Grace",
      list: ["Grace"],
      n: 4711,
      m: [4711],
      by: { "grace@corp.io": "grace@corp.io" },
    };
    const made = redactedValue(all) as typeof all;
    expect(made.list).toEqual([made.name]);
    expect(made.m).toEqual([made.n]);
    expect(Object.keys(made.by)).toEqual(Object.values(made.by));
    expect([made.name, made.n]).not.toEqual([all.name, all.n]);
  });

  test("for an address in another case or width", () => {
    const made = redactedValue([
      "Ada@Corp.io",
      "ada@corp.io",
      "ａｄａ＠corp.io",
    ]) as readonly string[];
    expect(new Set(made.slice(0, 2)).size).toBe(1);
  });
});

describe("substitutes keep the shape", () => {
  test.each([
    ["an email address", "ada@corp.io", z.email().endsWith("@example.test")],
    ["an international address", "jürgen@müller.de", z.email().endsWith("@example.test")],
    ["a UUID of version 4", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", z.uuidv4()],
    ["a UUID in upper case", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", z.uuidv4().uppercase()],
    ["an IPv4 address", "8.8.8.8", z.ipv4()],
    ["an IPv6 address", "2001:4860::8", z.ipv6()],
    ["a telephone number", "+15558675309", z.e164()],
    ["a date", "1990-12-31", z.iso.date()],
    ["a moment", "1990-12-31T10:20:30.123Z", z.iso.datetime()],
    ["a moment with a zone", "1990-12-31T10:20:30+01:00", z.iso.datetime({ offset: true })],
    [
      "a date of HTTP",
      "Thu, 26 Nov 2026 19:21:50 GMT",
      z.string().refine((text) => new Date(text).toUTCString() === text),
    ],
    [
      "a date with slashes",
      "05/04/1980",
      z.string().refine((text) => !Number.isNaN(Date.parse(text))),
    ],
    ["a URL", "https://u:p@x.test/a?b=cdefghij", z.url().regex(/^https:\/\/\w+\.example\.test\/$/)],
    ["hex digits", "d41d8cd98f00b204e9800998ecf8427e", z.string().regex(/^[\da-f]{32}$/)],
    ["an id of the service", "msg_abc123DEF", z.string().regex(/^msg_[a-z]{3}\d{3}[A-Z]{3}$/)],
    ["a name", "Ada Lovelace", z.string().regex(/^[A-Z][a-z]{2} [A-Z][a-z]{7}$/)],
    ["a domain", "mail.corp.io", z.hostname()],
    ["base64", Buffer.from("ada@corp.io").toString("base64"), z.base64()],
    ["digits", "007341", z.string().regex(/^\d{6}$/)],
    ["a whole number", 15_558_675_309, z.int().min(10_000_000_000).max(15_558_675_308)],
    ["a power of ten", 100, z.int().min(10).max(99)],
    ["a small number", 3, z.int().min(1).max(2)],
    ["a latitude", 52.52, z.number().min(10).max(52.52)],
    ["a negative number", -13.404954, z.number().min(-13.99).max(-10)],
    ["a fraction", 0.25, z.number().min(0).max(0.99)],
  ])("%s", (_what, value, schema) => {
    const [made] = redactedValue([value]) as readonly unknown[];
    if (!/example.test/.test(String(made)))
      expect(schema.safeParse(value).success || typeof value === "number").toBe(true);
    expect(schema.safeParse(made).error).toBeUndefined();
    expect(made).not.toBe(value);
  });

  test("a long number stays one, and an integer", () => {
    const text = redacted("[123456789012345678901234567890,-12345678e2,7.000,4.111111e15]");
    expect(text).toMatch(/^\[\d{30},-\d{8}e2,\d\.000,\d\.\d{6}e15\]$/);
    expect(text).not.toMatch(/12345678|7\.000|4\.111111/);
  });
});

test("--keep keeps a name in any spelling, and everything under it", () => {
  const value = { customerRef: "K-77", ref: "K-77", deal: { title: ["Merger"], "a b": 77 } };
  expect(redactedValue(value, ["customer_ref", "Deal"])).toEqual({
    ...value,
    ref: expect.not.stringContaining("K-77"),
  });
});

test("the file's name is redacted too, and nothing is overwritten", async () => {
  const file = newFile("ada@corp.io.jsonl");
  writeFileSync(file, readFileSync(await captureFile({ body: "{}" })));
  const out = newFile("fixtures");
  const { code, stdout } = await cli(["redact", file, "--out", out, "--json"]);
  expect(code).toBe(0);
  const { files } = JSON.parse(stdout) as { readonly files: readonly { readonly out: string }[] };
  expect(files[0]?.out).toMatch(/user-[\da-f]+@example\.test\.jsonl$/);

  const same = await captureFile({ body: "{}" });
  const again = await cli(["redact", same, "--out", dirname(same)]);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
  const twice = await cli(["redact", same, same, "--out", newFile("fixtures")]);
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("the same name") });
});

test.each([
  ["a line that is not a request", "{}\n", /Line 1 of \S+ is not a request/],
  ["an empty file", "", /contains no request/],
])("%s is wrong usage, and writes nothing", async (_what, text, message) => {
  const file = newFile("x.jsonl");
  writeFileSync(file, text);
  const out = newFile("fixtures");
  const { code, stderr } = await cli(["redact", file, "--out", out]);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(existsSync(out)).toBe(false);
});

describe("a fixture of every sender verifies with the printed secret", () => {
  test.each(Object.values(senders))("$name", async (sender) => {
    const { name } = sender;
    const at = Date.parse("2026-11-26T10:00:00.000Z");
    const { body, headers } = await signedBy(name, at);
    const list = Object.entries(headers);
    const parts = { body, headers: [...list, ["X-User", "ada@corp.io"]] as const };
    const file = await captureFile(parts);
    const { code, stdout, written, text } = await redactFile(file, "--scheme", name);
    expect(code).toBe(0);
    for (const value of list.map(([, one]) => one).filter((one) => one.length > 30))
      expect(text).not.toContain(value);
    expect(text).not.toContain("ada@corp.io");
    const { secret: printed } = testSecretOf(sender);
    expect(stdout).toContain(printed);
    const flags = ["--scheme", name, "--capture", written, "--secret-env=SECRET"];
    const verified = await cli(["verify", ...flags], { env: { SECRET: printed } });
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("genuine") });
  });
});

describe("listen --save --redact", () => {
  test("saves and shows nothing personal, and forwards the original", async () => {
    const { url: to, got } = await target((response) =>
      response.writeHead(422).end("no such user: zoepherine@corp.io"),
    );
    const file = newFile("fixtures.jsonl");
    const args = ["--forward-to", to, "--save", file, "--redact", "--keep", "ref"];
    const { url, output, received } = await listening(args);
    const event = { type: "email.sent", email: "zoepherine@corp.io", ref: "K-77", t: "K-77" };
    await deliver(`${url}/in?email=zoepherine%40corp.io`, event);
    await until(() => received().length === 1, "the delivery is shown");
    const [saved] = savedIn(readFileSync(file, "utf8"));
    expect(JSON.stringify(saved)).not.toMatch(/zoepherine/);
    expect(saved?.body).toContain('"ref":"K-77"');
    expect(output.stdout + output.stderr).not.toMatch(/zoepherine(?:@|%40)/);
    expect(got[0]?.body.toString()).toBe(JSON.stringify(event));
    const signature = saved?.headers.find(([name]) => /^x-svc-signature$/i.test(name))?.[1];
    expect(await verify(saved?.body ?? "", signature, "whsec_test")).toMatchObject({ ok: true });
  });

  test("shows no personal data as text either", async () => {
    const { url: to } = await target((response) =>
      response.writeHead(422).end(`no such user: ${"-".repeat(177)} zoepherine@corp.io`),
    );
    const file = newFile("fixtures.jsonl");
    const { start } = await import("./support.js");
    const flags = ["--port=0", "--secret-env=SECRET", "--forward-to", to, "--save", file];
    const started = start(["listen", ...flags, "--redact"]);
    await started.shows(/verify with the secret whsec_test\n/);
    const [url = ""] = /http:\/\/127[\d.:]+/.exec(started.output.stdout) ?? [];
    await deliver(url, { type: "zoepherine@corp.io" }, { deliveryId: "dlv-zoepherine@corp.io" });
    await started.shows(/@example\.test/);
    expect(started.output.stdout).not.toMatch(/zoepherine|no such user/);
  });

  test("does not save what it cannot redact, and forwards it", async () => {
    const { url: to, got } = await target();
    const file = newFile("fixtures.jsonl");
    const { url, received } = await listening(["--forward-to", to, "--save", file, "--redact"]);
    await deliver(url, "<zoe/>");
    await deliver(url, { type: "x" }, { secret: "whsec_another" });
    await until(() => received().length === 2, "the deliveries are shown");
    expect(readFileSync(file, "utf8")).toBe("");
    expect(got.length).toBe(1);
    expect(received().map(({ status, error }) => [status, error])).toEqual([
      [200, "The request was not saved. Its body is neither JSON nor an HTML form."],
      [401, expect.stringMatching(/not saved\. It was not accepted as genuine/)],
    ]);
  });

  test("shows that it saved nothing even if the target is not running", async () => {
    const file = newFile("fixtures.jsonl");
    const to = `http://127.0.0.1:${await freePort()}`;
    const { url, received } = await listening(["--forward-to", to, "--save", file, "--redact"]);
    await deliver(url, "<zoe/>");
    await until(() => received().length === 1, "the delivery is shown");
    expect(received()[0]).toMatchObject({
      status: 502,
      error: expect.stringMatching(/^The target returned no .* The request was not saved\./),
    });
  });

  test.each([
    ["--redact", "--redact needs --save"],
    ["--keep=a", "--keep needs --redact"],
  ])("%s alone is wrong usage", async (flag, message) => {
    const { code, stderr } = await cli(["listen", "--port=0", "--secret-env=SECRET", flag]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test("does not append to a file that may not be redacted", async () => {
    const file = await captureFile({ body: "{}" });
    const flags = ["--port=0", "--secret-env=SECRET", "--save", file, "--redact"];
    const { code, stderr } = await cli(["listen", ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/already has content.*new file/)]);
  });
});

test("a folder that is a file is wrong usage", async () => {
  const out = newFile("file");
  writeFileSync(out, "");
  const { code } = await cli(["redact", await captureFile({ body: "{}" }), "--out", out]);
  expect(code).toBe(2);
  mkdirSync(`${out}-folder`);
});

test("docs/cli/redact.md lists the secret of every sender", () => {
  const page = readFileSync(join(root, "docs/cli/redact.md"), "utf8");
  const [, section = ""] = /^## Secrets of fixtures\n([^]*)/m.exec(page) ?? [];
  for (const sender of Object.values(senders)) {
    const row = section
      .split("\n")
      .find((line) => line.startsWith("- ") && line.includes(`\`${sender.name}\``));
    expect(row).toContain(`\`${testSecretOf(sender).secret}\``);
  }
  expect(section).toContain(`\`${testSecretOf(service).secret}\``);
});

test("reads the .jsonl files of a folder", async () => {
  const folder = newFile("captures");
  mkdirSync(folder);
  const body = JSON.stringify({ type: "a.sent", email: "ada@corp.io" });
  const line = readFileSync(await captureFile({ body }), "utf8");
  for (const name of ["a.jsonl", "b.jsonl"]) writeFileSync(join(folder, name), line);
  writeFileSync(join(folder, "notes.txt"), "not a capture");
  const out = newFile("fixtures");
  const { code, stderr } = await cli(["redact", folder, "--out", out]);
  expect([stderr, code]).toEqual(["", 0]);
  expect(readdirSync(out)).toEqual(["a.jsonl", "b.jsonl"]);
});
