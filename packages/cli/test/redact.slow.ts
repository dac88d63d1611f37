import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { verify } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { root } from "@svc-webhooks/kit/programs";
import { until } from "@svc-webhooks/kit/until";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ibanRemainder, isLuhn } from "../src/redact/check-digits.js";
import { createRedactor } from "../src/redact/redactor.js";
import { testSecretOf } from "../src/redact/test-secret.js";
import { allSenders, senderOf } from "../src/schemes/table.js";
import { captureFile, savedIn, type Saved } from "./capturing.js";
import { deliver, listening, target } from "./listening.js";
import { senders, signedBy } from "./scheme-requests.js";
import { cli, newFile } from "./support.js";

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

/** Returns a redacted JSON text. The redactor learns from the text first, as the command does. */
function redacted(text: string, names: readonly string[] = []): string {
  const redactor = createRedactor({ names, key });
  redactor.learn(text);
  return redactor.json(text);
}

/** Returns everything that a reader of a fixture can see: its text, and what encoded parts of it mean. */
function visible({ body, headers, path }: Pick<Saved, "body" | "headers" | "path">): string {
  const all = [body, JSON.stringify(headers), path].join("\n");
  const decoded = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return "";
    }
  };
  const texts = [all, ...all.split(/[\s"&?=/]+/).map(decoded)];
  const tokens = texts.flatMap((text) => text.match(/[\w+/-]{8,}/g) ?? []);
  const inner = tokens.flatMap((token) => [
    Buffer.from(token, "base64").toString(),
    Buffer.from(token, "hex").toString(),
  ]);
  const escapes = texts.map((text) =>
    text.replaceAll(/\\+u([\da-f]{4})/gi, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    ),
  );
  return [...texts, ...inner, ...escapes].join("\n").normalize("NFKC").toLowerCase();
}

const email = "ada.lovelace@corp-mail.io";
const jwt = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"ada-the-subject"}').toString("base64url")}.c2lnbmF0dXJl`;

/** Sensitive values, and where they are in the body. */
const data = {
  from: "Ada Lovelace <ada.lovelace@corp-mail.io>",
  recipients: { to: ["grace.hopper@navy.mil", '"Hopper, Grace" <gracehopper@navy.mil>'] },
  subject: "Receipt for Augusta Byron",
  name: "Augusta Byron",
  customer: { first_name: "Katherine", lastName: "Johnson", "nick-name": "katjohnson" },
  contacts: [{ displayName: "Margaret Hamilton" }],
  note: "Margaret Hamilton asked for it",
  message: "Dear Katherine Johnson, your parcel is ready",
  phone: "+1 555 867 5309",
  mobile: 15558675310,
  help: "Call (555) 234-9876 today",
  address: { line1: "12 Dorset Street", city: "Marylebone", zip: "W1U6QJ", type: "home" },
  ip: "203.0.113.77",
  log: "seen at 198.51.100.23 and 2a00:1450:4001:82b::200e",
  api_key: "live-a8f7e6d5c4b3",
  apiToken: "tok3nTok3nTok3n",
  Authorization: "Bearer zyx987wvu654",
  headers: { cookie: "session=qwertyuiop" },
  web: "https://carol:hunter2pass@shop.test/reset?token=resetme12345&page=2",
  link: "https://shop.test/unsubscribe?e=ada.lovelace%40corp-mail.io",
  text_of_log: "key sk_live_4eC39HqLyjWDarjtT1zdp7dc used",
  jwt_in_text: `it was ${jwt} then`,
  card: 4111111111111111,
  payment: "paid with 5500 0055 5555 5559",
  iban_text: "to DE89 3704 0044 0532 0130 00 today",
  nested: JSON.stringify({ user: { email: "nested@corp-mail.io", id: "usr_1" } }),
  encoded: Buffer.from("base64@corp-mail.io").toString("base64"),
  percent: "percent%40corp-mail.io",
  [email]: { seen: true },
  digest_of_session: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  born: { date_of_birth: "1815-12-10" },
  email_id: "msg_1",
  message_id: "msg_2",
  send_id: "send_1",
  status: "sent",
  created_at: "2026-01-01T00:00:00.000Z",
  attempts: 3,
  big: "BIG",
};

const places = [
  "Ada Lovelace",
  email,
  "grace.hopper",
  "gracehopper",
  "Hopper",
  "Augusta",
  "Byron",
  "Katherine",
  "Johnson",
  "katjohnson",
  "Margaret",
  "Hamilton",
  "867 5309",
  "5558675310",
  "234-9876",
  "Dorset",
  "Marylebone",
  "W1U6QJ",
  "203.0.113.77",
  "198.51.100.23",
  "2a00:1450",
  "a8f7e6d5c4b3",
  "tok3nTok3n",
  "zyx987wvu654",
  "qwertyuiop",
  "hunter2pass",
  "resetme12345",
  "4eC39HqLyjWDarjtT1zdp7dc",
  "ada-the-subject",
  "4111111111111111",
  "0055 5555",
  "0532 0130",
  "nested@corp",
  "base64@corp",
  "percent@corp",
  "9f86d081884c7d65",
  "1815-12-10",
  "hooks.corp.test",
  "pathtoken12345678",
  "header@corp",
  "192.0.2.44",
  "cookievalue",
  "authvalue",
];

const strictEvent = z.object({
  event_id: z.literal("evt_1"),
  type: z.enum(["email.sent"]),
  data: z.looseObject({
    recipients: z.object({ to: z.array(z.string().includes("@")) }),
    phone: z.string().regex(/^\+\d[\d ]{6,}$/),
    mobile: z.int().positive(),
    ip: z.ipv4(),
    web: z.url(),
    link: z.url(),
    card: z.int(),
    address: z.object({
      line1: z.string().regex(/^\d+ /),
      city: z.string(),
      zip: z.string().length(6),
      type: z.enum(["home", "work"]),
    }),
    born: z.object({ date_of_birth: z.iso.date() }),
    created_at: z.iso.datetime(),
    status: z.enum(["sent", "delivered"]),
    attempts: z.literal(3),
  }),
});

testPosix(
  "a capture with personal data and secrets in more than 30 places keeps none of them",
  async () => {
    expect(places.length).toBeGreaterThan(30);
    const body = JSON.stringify({ event_id: "evt_1", type: "email.sent", data }, null, 2).replace(
      '"BIG"',
      "123456789012345678901234567890",
    );
    const file = await captureFile({
      body,
      path: "/hooks/pathtoken12345678?email=header%40corp-mail.io&v=2",
      headers: [
        ["Content-Type", "application/json"],
        ["Content-Length", String(Buffer.byteLength(body))],
        ["X-Sender", "header@corp-mail.io"],
        ["X-Forwarded-For", "192.0.2.44"],
        ["Cookie", "cookievalue"],
        ["X-Auth-Token", "authvalue"],
      ],
    });
    const before = visible(savedIn(readFileSync(file, "utf8"))[0] as Saved);
    const { code, stdout, saved, written } = await redactFile(file);
    expect(code).toBe(0);
    const [one] = saved;
    if (!one) throw new Error("nothing was saved");
    const after = visible(one);
    const lost = places.filter((place) => !before.includes(place.toLowerCase()));
    expect(lost).toEqual([]);
    expect(places.filter((place) => after.includes(place.toLowerCase()))).toEqual([]);

    const signature = one.headers.find(([name]) => name === "X-SVC-Signature")?.[1];
    expect(await verify(one.body, signature, "whsec_test")).toMatchObject({ ok: true });
    expect(stdout).toContain("whsec_test");
    expect(one.headers).toContainEqual(["Content-Length", String(Buffer.byteLength(one.body))]);
    const event: unknown = JSON.parse(one.body);
    expect(emailEvents["email.sent"].safeParse(event).success).toBe(true);
    expect(strictEvent.safeParse(JSON.parse(body)).error).toBeUndefined();
    expect(strictEvent.safeParse(event).error).toBeUndefined();
    expect(one.body).toContain("123456789012345678901234567890");
    expect(one.body.match(/^ +"\w+"/gm)?.length).toBe(body.match(/^ +"\w+"/gm)?.length);
    expect(statSync(written).mode & 0o777).toBe(0o600);
  },
);

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

test("ids, times, types, states and the content type stay", () => {
  const text = JSON.stringify({
    id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    related: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    uuid: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    type: "customer.subscription.updated",
    object: "event",
    status: "past_due",
    created: 1_764_150_000,
    created_ms: 4_242_424_242_424,
    at: "2026-11-26T19:21:50.123+01:00",
    day: "2026-11-26",
    sent: "Thu, 26 Nov 2026 19:21:50 GMT",
    currency: "eur",
    amount: 1999.5,
    timezone: "Europe/Berlin",
    version: "2026-01-01.1",
    token_type: "bearer",
    card: { checks: { address_line1_check: "pass", cvc_check: "pass" }, country: "US" },
    session_started_at: "2026-01-01T00:00:00Z",
    session: { started: "2026-01-01T00:00:00Z", mode: "payment" },
    session_type: "web",
    session_status: "active",
    comment_state: "open",
    password_strength: "weak",
    updated_by: "system",
    assigned_to: "usr_1",
    state: "open",
    country: "US",
    vat: 19,
    shipping: { state: "delivered" },
    device: { type: "mobile", model: "x" },
    tags: [{ name: "category", value: "confirm_email" }],
    attributes: [{ key: "color", value: "red" }],
    links: ["https://x.test/users/list", "https://x.test/verify/email"],
    remark: "type=web, verified: true, password=null",
    email_verified: true,
    tokens: 12,
    name: null,
    plan: "Pro plan, 3 seats",
  });
  expect(redacted(text)).toBe(text);
});

describe("what is not replaced keeps its bytes", () => {
  test.each([
    ["a byte order mark", '\ufeff{"email":"', '"}'],
    ["names that occur twice", '{"a":1,"a":2,"email":"', '","a":3}'],
    ["huge and precise numbers", '{"n":1e400,"m":-0.10000000000000000001,"email":"', '"}'],
    ["white space and escapes", '{ "x" : "\\u00e9\\/" ,\r\n\t"email":"', '" }\n'],
    ["deep nesting", `${'{"a":['.repeat(5_000)}"`, `"${"]}".repeat(5_000)}`],
  ])("%s", async (_what, before, after) => {
    const { saved } = await redactFile(await captureFile({ body: before + email + after }));
    const body = saved[0]?.body ?? "";
    expect(body.startsWith(before)).toBe(true);
    expect(body.endsWith(after)).toBe(true);
    expect(body.slice(before.length, -after.length)).toMatch(/^user-[\da-f]{12}@example\.com$/);
  });

  test("both values of a name that occurs twice are replaced", () => {
    const text = redacted('{"email":"a@corp.io","email":"b@corp.io"}');
    expect(text).toMatch(/^\{"email":"user-\w+@example\.com","email":"user-\w+@example\.com"\}$/);
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

  test("a forgery stays out, is not an error, and decides nothing about the others", async () => {
    const forged = { body: '{"name":"Monthly Report"}', verdict: "signature_mismatch" };
    const body = '{"title":"Monthly Report"}';
    const { code, stderr, saved } = await redactFile(await captureFile(forged, { body }));
    expect([code, saved.map((one) => one.body)]).toEqual([0, [body]]);
    expect(stderr).toMatch(/not accepted as genuine/);
  });
});

test("an HTML form is redacted by the names of its fields", async () => {
  const payload = encodeURIComponent(JSON.stringify({ user: { email: "zoe@corp.io" }, type: "x" }));
  const body = `token=gIkuvaNzQIHg97ATvDxqgjtO&team_id=T0001&user_name=steve+jobs&text=94070&command=%2Fweather&payload=${payload}`;
  const file = await captureFile({
    body,
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
  });
  const { saved } = await redactFile(file);
  const fields = new URLSearchParams(saved[0]?.body);
  expect(saved[0]?.body).not.toMatch(/gIkuva|steve|jobs|94070|zoe/);
  expect([fields.get("team_id"), fields.get("command")]).toEqual(["T0001", "/weather"]);
  expect(fields.get("user_name")).toMatch(/^[a-z]{5} [a-z]{4}$/);
  expect(JSON.parse(fields.get("payload") ?? "")).toMatchObject({ type: "x" });
});

describe("equal values have equal substitutes", () => {
  const emailsOf = (text: string) => text.match(/user-[\da-f]+@example\.com/g) ?? [];

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

  test("a UUID that is a token, wherever it occurs, but not one that is only an id", () => {
    const [token, id] = [
      "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
      "9b2e1c44-0d3a-4f6b-8c1d-5a7e9f001122",
    ];
    const all = { token, copy: token, list: [token.toUpperCase()], ref: id };
    const made = JSON.parse(redacted(JSON.stringify(all))) as typeof all;
    expect(made.token).not.toBe(token);
    expect(made).toEqual({
      ...all,
      token: made.token,
      copy: made.token,
      list: [made.token.toUpperCase()],
    });
  });

  test("a domain in a URL is another one in example.com, as under its name", () => {
    const text = redacted('{"domain":"corp-mail.io","u":"https://corp-mail.io/a"}');
    const [, host = "", inUrl] = /"domain":"([^"]+)","u":"https:..([^/]+)/.exec(text) ?? [];
    expect(host).toMatch(/^host-\w+\.example\.com$/);
    expect(inUrl).toBe(host);
    const again = redacted('{"domain":"corp-mail.io","t":"at corp-mail.io"}');
    expect(again).toContain(`at ${host}`);
  });

  test("a name that is known from one file is replaced in the text of a file before it", async () => {
    const file = await captureFile(
      { body: '{"message":"Hi Grace!"}' },
      { body: '{"name":"Grace"}' },
    );
    const { saved } = await redactFile(file);
    const [, first] = /Hi (\w+)!/.exec(saved[0]?.body ?? "") ?? [];
    expect(first).not.toBe("Grace");
    expect(JSON.parse(saved[1]?.body ?? "")).toEqual({ name: first });
  });

  test("in another spelling", () => {
    const spelt = ["Ada@Corp.io", "ada@corp.io", "ada%40corp.io", "ａｄａ＠corp.io"];
    const made = JSON.parse(redacted(JSON.stringify(spelt))) as readonly string[];
    expect(new Set(made.map((one) => decodeURIComponent(one))).size).toBe(1);
    const numbers = redacted('{"phone":"+1 (555) 867-5309","mobile":15558675309}');
    const [, text = "", number] = /"phone":"([^"]+)","mobile":(\d+)/.exec(numbers) ?? [];
    expect(text.replaceAll(/\D/g, "")).toBe(number);
    expect(number).not.toBe("15558675309");
  });
});

describe("what was found by its name is remembered", () => {
  const nameOf = (n: number) => `Xq${n.toString(36)}a Zw${(n * 7).toString(36)}b`;
  const event = (n: number) =>
    JSON.stringify({ customer: { name: nameOf(n) }, remark: `To ${nameOf(n)}` });
  const people = Array.from({ length: 6_000 }, (_, n) => n);

  test("in files of any size", () => {
    const redactor = createRedactor({ key });
    for (const n of people) redactor.learn(event(n));
    const kept = people.filter((n) => redactor.json(event(n)).includes(nameOf(n)));
    expect(kept).toEqual([]);
  });

  test("up to a limit, of which listen gives notice once", () => {
    let notices = 0;
    const memory = { mostValues: 100, onForgotten: () => (notices += 1) };
    const redactor = createRedactor({ key, memory });
    for (const n of people.slice(0, 300)) redactor.learn(event(n));
    expect(redactor.json(event(299))).not.toContain(nameOf(299));
    expect(redactor.text(`To ${nameOf(0)}`)).toContain(nameOf(0));
    for (const n of people) redactor.learn(`{"phone":"${555_000_000 + n}"}`);
    expect(redactor.json('{"n":555005999,"m":555000000}')).toMatch(
      /"n":5(?!55005999).*"m":555000000/,
    );
    expect(notices).toBe(1);
  });
});

/** Texts in which a value is hidden, as JSON, and the pattern of what must not be left. */
const hidden: readonly (readonly [what: string, json: string, left: RegExp])[] = [
  ["percent-encoding", '["ada%40corp.io"]', /ada|corp/],
  ["percent-encoding, twice", '["x=ada%2540corp.io"]', /ada|corp/],
  ["JSON in a string", '["{\\"a\\":\\"ada@corp.io\\"}"]', /ada|corp/],
  [
    "JSON in JSON in a string",
    JSON.stringify([JSON.stringify(JSON.stringify({ name: "Ada" }))]),
    /Ada/,
  ],
  ["escapes of JSON", '["ada\\u0040corp.io"]', /ada|corp/],
  ["escapes in a string", '["ada\\\\u0040corp.io"]', /ada|corp/],
  ["escapes of JavaScript", '["ada\\\\x40corp.io"]', /ada|corp/],
  ["an entity", '["ada&#64;corp.io","bob&commat;corp.io","eve&#x40;corp.io"]', /ada|bob|eve|corp/],
  ["full-width letters", '["ａｄａ＠ｃｏｒｐ．ｉｏ"]', /ａ|ada/],
  ["invisible characters", '["ad\u200ba@co\u00adrp.io"]', /ad|rp/],
  ["(at)", '["ada (at) corp (dot) io","bob[at]corp.io"]', /ada|bob|corp/],
  ["base64", JSON.stringify([Buffer.from("ada@corp.io").toString("base64")]), /YWRh/],
  ["base64url", JSON.stringify([Buffer.from("ada@corp.io>>??").toString("base64url")]), /YWRh/],
  [
    "base64 of JSON in a data URL",
    JSON.stringify([
      `data:text/plain;base64,${Buffer.from('{"name":"Ada L"}').toString("base64")}`,
    ]),
    /eyJuYW1lIjoiQWRhIEwifQ/,
  ],
  [
    "base64 of base64",
    JSON.stringify([Buffer.from(Buffer.from("ada@corp.io").toString("base64")).toString("base64")]),
    /WVdSa/,
  ],
  ["hex digits", JSON.stringify([Buffer.from("ada@corp.io").toString("hex")]), /616461/],
  ["a name", '{"ada@corp.io":{"sk_live_4eC39HqLyjWD":1}}', /ada|corp|4eC39/],
  [
    "a name that is a person's",
    '{"name":"Ada Lovelace","by":{"Ada Lovelace":1,"ada":2}}',
    /Ada|Lovelace|"ada"/,
  ],
  ["a type", '{"type":"ada@corp.io","status":"sk_live_4eC39HqLyjWD"}', /ada|4eC39/],
  ["an id", '{"id":"ada@corp.io","user_id":"Bearer abc123def456"}', /ada|abc123/],
  ["VERP", '["bounce+ada=corp.io@mailer.net"]', /ada|corp|mailer/],
  ["a quoted local part", '["\\"ada l\\"@corp.io"]', /ada|corp/],
  ["a literal domain", '["ada@[192.0.2.1]"]', /ada|192/],
  ["an international address", '["jürgen@müller.de","用户@例子.中国"]', /rgen|ller|用户|例子/],
  ["mailto", '["mailto:ada@corp.io?subject=x"]', /ada|corp/],
  [
    "a list under a name",
    '{"emails":["ada at corp"],"phones":[["5551234567"]]}',
    /ada|corp|5551234567/,
  ],
  [
    "spelling of names",
    '{"E-Mail":"ada","PhoneNumber":"867","APIKey":"hunter","ｎａｍｅ":"Grace"}',
    /ada|867|hunter|Grace/,
  ],
  [
    "an object under a name",
    '{"password":{"x":["hunter"]},"name":{"first":"Grace"}}',
    /hunter|Grace/,
  ],
  [
    "numbers under names",
    '{"phone":5558675309,"pin":4711,"ssn":123456789,"lat":52.520008}',
    /5558675309|4711|123456789|52\.52/,
  ],
  [
    "a negative and an exponent",
    '{"lon":-13.404954,"account_number":12345678e2}',
    /13\.404|12345678/,
  ],
  ["a card number in a number", "[4111111111111111]", /4111111111111111/],
  [
    "a card number with separators",
    '["4111-1111-1111-1111","3782 822463 10005"]',
    /1111-1111|822463/,
  ],
  [
    "a phone number in a number and in text",
    '{"phone":"+49 30 901820","x":4930901820,"t":"49 30 901820"}',
    /901820/,
  ],
  ["an IBAN in lower case", '["de89370400440532013000."]', /3704|0532/],
  ["a password of punctuation", '{"password":"!?!?!?"}', /!\?/],
  ["a password that is a date", '{"password":"1990-05-01"}', /1990-05-01/],
  ["a password in JSON's form", '{"password":"{\\"a\\":1234}"}', /1234/],
  ["a UUID under a token's name", '{"token":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}', /3f2504e0/],
  [
    "a PEM key",
    JSON.stringify(["-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"]),
    /MIIE/,
  ],
  [
    "tokens of services",
    JSON.stringify([
      "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
      "xoxb-1234-abcd",
      "AKIAIOSFODNN7EXAMPLE",
      "whsec_MfKQ9r8GKYqr",
      "SG.abc.def123",
    ]),
    /16C7e|1234-abcd|IOSFO|MfKQ|abc\.def/,
  ],
  [
    "a token that repeats in text",
    '{"api_key":"Zebra-9000","log":"used zebra-9000 twice"}',
    /zebra-9000/i,
  ],
  [
    "a secret behind Bearer that repeats",
    '{"authorization":"Bearer zebrafish","log":"got zebrafish"}',
    /zebrafish/,
  ],
  ["a database URL", '["postgres://admin:s3cret@db.internal/app"]', /s3cret|admin/],
  [
    "a fragment and a matrix of tokens",
    '["https://x.test/cb#access_token=abcd1234efgh&state=9Xy8"]',
    /abcd1234|9Xy8/,
  ],
  [
    "a token in a path",
    '["https://hooks.x.test/services/T00000000AAAA11111/xyz"]',
    /T00000000AAAA/,
  ],
  [
    "a domain that is known by its name",
    '{"domain":"corp-mail.io","u":"https://www.corp-mail.io/a"}',
    /corp-mail/,
  ],
  ["names in Chinese", '{"name":"李小龙","t":"你好李小龙先生"}', /李小龙/],
  [
    "a name in another case and with other separators",
    '{"name":"Ada Lovelace","t":"ADA LOVELACE ada.lovelace ada_lovelace"}',
    /ada|lovelace/i,
  ],
  [
    "names in scripts without spaces, within each other and with a space",
    '{"users":[{"name":"山田"},{"name":"山田 太郎"},{"name":"김철수"}],"t":"こんにちは山田太郎さん山田_太郎と김철수님"}',
    /山|太|철/,
  ],
  [
    "values with labels",
    '{"headers":[{"name":"Authorization","value":"hunter99"},{"value":"87 65 43","key":"phone"},{"label":"Your SSN","value":{"area":"654"}},{"name":"Gift message","value":"To Quentin"},{"propertyName":"birthday","propertyValue":"1931-02-03"},{"field":"assignee","toString":"Quentin"}]}',
    /hunter99|87 65|654|Quentin|1931/,
  ],
  [
    "fields of a form that a person filled in",
    '{"values":{"b":{"a":{"type":"plain_text_input","value":"Quentin"}}}}',
    /Quentin/,
  ],
  [
    "people by their role",
    '{"cardholder":"Quentin","account_holder":"Quentin","beneficiary":"Quentin","created_by":"Quentin","assigned_to":"Quentin","users":["Quentin"],"attendees":[["Quentin"]],"actor":"Quentin","guest":"Quentin","alias":"Quentin","company":"Quentin Ltd","organization":"Quentin"}',
    /Quentin/,
  ],
  [
    "numbers of people, accounts and cards",
    '{"id_number":"654","drivers_license":"654","driver_license_number":"654","document_number":"654","cpf":"654","nino":"654","vat":"DE654","vatin":"654","ein":"654","tin":"654","social_security_number":"654","national_identification_number":"654","dynamic_last4":"6543","last4Digits":"6543","iin":"6543","card":{"number":"4111 1111 1111 6543"},"passport":{"number":"654"}}',
    /654/,
  ],
  [
    "telephone numbers without the form of one",
    '{"wa_id":"6543","WaId":"6543","from_number":"6543","to_number":"6543","callee":"6543","contact_number":"6543"}',
    /6543|5432/,
  ],
  [
    "codes",
    '{"sms_code":"6543","resetCode":"6543","two_factor_code":"6543","recovery_codes":["6543"],"backup_codes":["6543"],"one_time_code":"6543","user_code":"6543","mnemonic":"hunter","salt":"hunter"}',
    /6543|hunter/,
  ],
  [
    "parts of an address",
    '{"shipping":{"house_number":"6543","county":"Rutland","state":"ZQ","country":"ZQ"},"address":{"region":"Rutland","country_code":"zq"},"billing_state":"ZQ","province":"Rutland","district":"Rutland","location":"Rutland"}',
    /6543|Rutland|zq/i,
  ],
  [
    "coordinates",
    '{"geometry":{"coordinates":[13.404954,52.520008]},"gps":"52.52,13.40","position":"52.520008,13.404954","u":"https://x.test/maps/@52.52,13.40,15z"}',
    /52|13\.4/,
  ],
  [
    "devices and hashes of addresses",
    '{"gravatar_id":"hunter","device_id":"hunter","device":{"id":"hunter"},"advertisingId":"hunter","idfa":"hunter","mac":"hunter","mac_address":"hunter","imei":"hunter"}',
    /hunter/,
  ],
  [
    "percent-encoding next to a percent sign",
    '["x=100%&y=ada%40corp.io","%ff%40 ada%40corp.io%"]',
    /ada|corp/,
  ],
  [
    "assignments in text",
    '["DB_PASSWORD=hunter","my password: hunter, thanks","Cookie: a=1; sid=hunter","/p?first_name=hunter&v=2","{\'api_key\': \'hunter\'"]',
    /hunter/,
  ],
  [
    "short tokens in paths",
    '["https://x.test/a/AbC123","https://x.test/reset/hunter/","https://x.test/verify/3f2504e0-4f89-41d3-9a0c-0305e82c3301"]',
    /AbC123|hunter|3f2504e0/,
  ],
  ["HTML", '{"html":"<p class=\\"x\\">Dear Grace</p>"}', /Dear|Grace/],
  ["an IPv6 address with a port", '["[2001:4860:4860::8888]:443"]', /4860/],
  [
    "more encodings than are searched",
    JSON.stringify([
      Array.from({ length: 9 }).reduce<string>(
        (text) => Buffer.from(text).toString("base64"),
        "ada@corp.io",
      ),
    ]),
    /Vm0w/,
  ],
];

describe("a hidden value is replaced", () => {
  test.each(hidden)("%s", (_what, json, left) => {
    expect(json).toMatch(/\\u|\\x/.test(json) ? /./ : left);
    const written = redacted(json);
    JSON.parse(written);
    expect(written).not.toMatch(left);
    expect(JSON.stringify(JSON.parse(written))).not.toMatch(left);
  });
});

const dateText = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const regionCodes = "AL AR AZ CA CO DE GA IL IN LA MA MD ME MN MO MS MT NC NE PA SC SD TN VA".split(
  " ",
);

describe("substitutes keep the form", () => {
  test.each([
    ["an e-mail address", "email", "ada@corp.io", z.email()],
    ["a JWT", "token", jwt, z.jwt()],
    ["a UUID of version 4", "secret", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", z.uuidv4()],
    ["an IPv4 address", "ip", "8.8.8.8", z.ipv4()],
    ["an IPv6 address", "ip", "2001:4860::8", z.ipv6()],
    ["a telephone number", "phone", "+15558675309", z.e164()],
    ["a date of birth", "birthday", "1990-12-31", z.iso.date()],
    ["a date with slashes", "birth_date", "05/04/1980", dateText],
    ["a date with names", "dob", "May 4, 1980", dateText],
    ["a date of digits", "birthday", "19800504", z.string().regex(/^19[5-9]\d[01]\d[0-2]\d$/)],
    ["the country of an address", "address_country", "FR", z.enum(["FR", ...regionCodes])],
    ["a pair of coordinates", "gps", "52.52,13.40", z.string().regex(/^\d\d?\.\d\d,\d\d?\.\d\d$/)],
    ["a URL", "key", "https://u:p@x.test/a?b=cdefghij", z.url()],
    ["hex digits", "token", "d41d8cd98f00b204e9800998ecf8427e", z.string().regex(/^[\da-f]{32}$/)],
    [
      "a key with a prefix",
      "key",
      "sk_live_abc123DEF",
      z.string().regex(/^sk_live_[a-z]{3}\d{3}[A-Z]{3}$/),
    ],
    ["a name", "name", "Ada Lovelace", z.string().regex(/^[A-Z][a-z]{2} [A-Z][a-z]{7}$/)],
    ["a domain", "domain", "mail.corp.io", z.hostname()],
    ["a number", "phone", 15_558_675_309, z.int().gte(10_000_000_000)],
    ["a latitude", "lat", 52.52, z.number().min(-90).max(90)],
    [
      "a card number",
      "x",
      "4111-1111-1111-1111",
      z.string().refine((text) => isLuhn(text.replaceAll("-", ""))),
    ],
    [
      "an IBAN",
      "x",
      "DE89370400440532013000",
      z.string().refine((text) => ibanRemainder(text) === 1),
    ],
    ["base64", "x", Buffer.from("ada@corp.io").toString("base64"), z.base64()],
  ])("%s", (_what, name, value, schema) => {
    const text = JSON.stringify({ [name]: value });
    const made = JSON.parse(redacted(text)) as Record<string, unknown>;
    expect(schema.safeParse(value).success).toBe(true);
    expect(schema.safeParse(made[name]).error).toBeUndefined();
    expect(made[name]).not.toBe(value);
  });
});

test("--redact-key adds a name, in any spelling and for everything under it", () => {
  const text = '{"customerRef":"K-77","ref":"K-77 is open","deal":{"title":["Merger"],"type":"x"}}';
  expect(redacted(text)).toBe(text);
  expect(redacted(text, ["customer_ref", "deal"])).not.toMatch(/K-77|Merger|"x"/);
});

test("the file's name is redacted too, and nothing is overwritten", async () => {
  const file = newFile("ada@corp.io.jsonl");
  writeFileSync(file, readFileSync(await captureFile({ body: "{}" })));
  const out = newFile("fixtures");
  const { code, stdout } = await cli(["redact", file, "--out", out, "--json"]);
  expect(code).toBe(0);
  const { files } = JSON.parse(stdout) as { readonly files: readonly { readonly out: string }[] };
  expect(files[0]?.out).toMatch(/user-[\da-f]+@example\.com\w*$/);

  const same = await captureFile({ body: "{}" });
  const again = await cli(["redact", same, "--out", dirname(same)]);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
  const twice = await cli(["redact", same, same, "--out", newFile("fixtures")]);
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("the same name") });
});

test.each([
  ["a line that is not a request", "{}\n", /Line 1 of the file is not a request/],
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
  test.each(Object.keys(senders))("%s", async (name) => {
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
    const { secret: printed } = testSecretOf(senderOf({ scheme: name }));
    expect(stdout).toContain(printed);
    const flags = ["--scheme", name, "--capture", written, "--secret-env=SECRET"];
    const verified = await cli(["verify", ...flags], { env: { SECRET: printed } });
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("genuine") });
  });

  test("the names are those of the command", () => {
    expect(Object.keys(senders)).toEqual(allSenders().map(([name]) => name));
  });
});

describe("listen --save --redact", () => {
  test("saves and shows nothing personal, and forwards the original", async () => {
    const { url: to, got } = await target((response) =>
      response.writeHead(422).end("no such user: zoe@corp.io"),
    );
    const file = newFile("fixtures.jsonl");
    const args = ["--forward-to", to, "--save", file, "--redact", "--redact-key", "ref"];
    const { url, output, received } = await listening(args);
    const event = { type: "email.sent", email: "zoe@corp.io", ref: "K-77", t: "K-77" };
    await deliver(`${url}/in?email=zoe%40corp.io`, event);
    await until(() => received().length === 1, "the delivery is shown");
    const [saved] = savedIn(readFileSync(file, "utf8"));
    expect(JSON.stringify(saved)).not.toMatch(/zoe|K-77/);
    expect(output.stdout + output.stderr).not.toMatch(/zoe(?:@|%40)/);
    expect(got[0]?.body.toString()).toBe(JSON.stringify(event));
    const signature = saved?.headers.find(([name]) => /^x-svc-signature$/i.test(name))?.[1];
    expect(await verify(saved?.body ?? "", signature, "whsec_test")).toMatchObject({ ok: true });
  });

  test("shows no personal data as text either", async () => {
    const { url: to } = await target((response) =>
      response.writeHead(422).end(`no such user: ${"-".repeat(177)} zoe@corp.io`),
    );
    const file = newFile("fixtures.jsonl");
    const { start } = await import("./support.js");
    const flags = ["--port=0", "--secret-env=SECRET", "--forward-to", to, "--save", file];
    const started = start(["listen", ...flags, "--redact"]);
    await started.shows(/verify with whsec_test\n/);
    const [url = ""] = /http:\/\/127[\d.:]+/.exec(started.output.stdout) ?? [];
    await deliver(url, { type: "zoe@corp.io" }, { deliveryId: "dlv-zoe@corp.io" });
    await started.shows(/no such user/);
    expect(started.output.stdout).not.toContain("zoe");
    expect(started.output.stdout).toContain("@example.com");
  });

  test("reports once that it no longer remembers all values", async () => {
    const { url, output, received } = await listening(["--save", newFile("x.jsonl"), "--redact"]);
    const emails = Array.from({ length: 20_001 }, (_, n) => `u${n}@corp.io`);
    await deliver(url, { type: "x", emails });
    await until(() => received().length === 1, "the delivery is shown");
    expect(output.stderr.match(/More than 20000 values .*svc-webhooks redact/g)).toHaveLength(1);
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

  test.each([
    ["--redact", "--redact needs --save"],
    ["--redact-key=a", "--redact-key needs --redact"],
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

test("docs/cli.md lists the secret of every sender", () => {
  const page = readFileSync(join(root, "docs/cli.md"), "utf8");
  const [, section = ""] = /^## Fixtures\n([^]*?)^## /m.exec(page) ?? [];
  for (const [name, sender] of allSenders()) {
    const row = section
      .split("\n")
      .find((line) => line.startsWith("|") && line.includes(`\`${name}\``));
    expect(row).toContain(`\`${testSecretOf(sender).secret}\``);
  }
  expect(section).toContain(`\`${testSecretOf(undefined).secret}\``);
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
