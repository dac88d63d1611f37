import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  createReceiver,
  memoryStore,
  ConfigError,
  type ConfigErrorCode,
  type ReceiverOptions,
} from "../src/index.js";
import { pageLink } from "../src/lib/page-link.js";
import { explain as briefly } from "../src/texts/brief.js";
import { noting, observed, send, type NotedCall } from "./support.js";

const secret = "whsec_do_not_show";
const on = { "*": () => {} };
const onParked = () => {};
const week = 604_800_000;

/** The error of a call with arguments of any shape, as in JavaScript. */
function errorOf(build: () => unknown): ConfigError {
  try {
    build();
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error("no configuration error");
}

const create = createReceiver as (options?: unknown) => unknown;
const refusal = (options: object) => errorOf(() => create({ secret, on, ...options }));

const unset =
  'The environment variable is not set in this process. Set it. If it is missing only at build time, pass a function: secret: () => process.env.SVC_WEBHOOK_SECRET ?? "".';
const inQuotes = "starts or ends with a quote, probably from an env file.";
const masked = "is masked: reveal() returns its text. Pass text or bytes.";
const placeholder = "is a placeholder or an abbreviated secret.";
const unreplaced = "contains the name of a variable that was not expanded.";
const isText = 'is the text of a missing value, such as "undefined".';
const space = "has a line break or white space around it.";
const schema = "Pass a Standard Schema";
const whole = "but must be an integer from";
const handlers = 'Add at least one handler, such as on: { "*": ';
const kinds = 'Pass "delivery", "event" or "body".';
const ways = 'Pass "refuse" or "process".';
const twice = [
  { id: "a", key: secret },
  { id: "b", key: Buffer.from(secret) },
];
const store = { ...memoryStore(), shared: true };
const client = { evalsha: () => {} };
const broken = { "~standard": { version: 1 } };
const keys = (count: number) => Array.from({ length: count }, (_, id) => `key ${id}`);
const keyed = (...ids: unknown[]) => ids.map((id, at) => ({ id, key: `key ${at}` }));
const expiring = (expiresAt: unknown) => [{ id: "a", key: "x", expiresAt }];

/** Rows of a problem, the options, and the text, which begins with the name of the option. */
type Refused = readonly (readonly [string, object, string])[];

const refused: Readonly<Record<ConfigErrorCode, Refused>> = {
  invalid_secret: [
    ["no secret", { secret: undefined }, `\`secret\` is undefined. ${unset}`],
    ["null", { secret: null }, `\`secret\` is null. ${unset}`],
    ["an empty secret", { secret: "" }, `\`secret\` is empty. ${unset}`],
    ["empty bytes", { secret: new Uint8Array() }, "`secret` is empty or all zeros"],
    ["bytes that were wiped", { secret: new Uint8Array(32) }, "`secret` is empty or all zeros"],
    ["white space before it", { secret: ` ${secret}` }, `\`secret\` ${space}`],
    ["a line break after it", { secret: `${secret}\n` }, `\`secret\` ${space}`],
    ["a line break inside", { secret: "whsec_a\nb" }, "`secret` contains a line break."],
    ["a lone surrogate", { secret: "w\ud800" }, "`secret` contains an unpaired surrogate."],
    ['"', { secret: '"whsec_a"' }, `\`secret\` ${inQuotes}`],
    ["'", { secret: "'whsec_a'" }, `\`secret\` ${inQuotes}`],
    ["`", { secret: "`a`" }, `\`secret\` ${inQuotes}`],
    ["a quote before it", { secret: '"whsec_a' }, `\`secret\` ${inQuotes}`],
    ["a quote after it", { secret: "whsec_a'" }, `\`secret\` ${inQuotes}`],
    ...["whsec_…", "whsec_...", "whsec_…PmrW", "…", "whsec_xxxx", "xxx", "your-webhook-secret"]
      .concat("whsec_your_secret", "<secret>", "whsec_<secret>", "whsec_YOUR_SIGNING_SECRET")
      .concat(
        "changeme",
        "change_me",
        "REPLACE_ME",
        "whsec_replace_me",
        "whsec_placeholder",
        "TODO",
      )
      .concat("whsec_zT0b****INdXt", "whsec_****", "[REDACTED]", "whsec_XXXXXXXX", "whsec_abcd…")
      .map((text) => [text, { secret: text }, `\`secret\` ${placeholder}`] as const),
    ...["$SECRET", "${SVC_WEBHOOK_SECRET}", "${SECRET:-}", "%SVC_WEBHOOK_SECRET%", "{{ SECRET }}"]
      .concat(`SVC_WEBHOOK_SECRET=${secret}`)
      .map((text) => [text, { secret: text }, `\`secret\` ${unreplaced}`] as const),
    ["undefined as text", { secret: "undefined" }, `\`secret\` ${isText}`],
    ["null as text", { secret: "null" }, `\`secret\` ${isText}`],
    ["NaN as text", { secret: "NaN" }, `\`secret\` ${isText}`],
    ["an object as text", { secret: "[object Object]" }, `\`secret\` ${isText}`],
    ["a promise as text", { secret: "[object Promise]" }, `\`secret\` ${isText}`],
    ["undefined with a prefix", { secret: "whsec_undefined" }, `\`secret\` ${isText}`],
    ["null with a prefix", { secret: "whsec_null" }, `\`secret\` ${isText}`],
    ["the prefix alone", { secret: "whsec_" }, "`secret` is only the prefix `whsec_`."],
    ["a number", { secret: 42 }, "`secret` is a number. Pass text or bytes."],
    ["a promise", { secret: Promise.resolve(secret) }, "`secret` is a promise, which must"],
    ["a masked secret", { secret: { reveal: () => secret } }, `\`secret\` ${masked}`],
    ["a masked key", { secret: [{ id: "a", key: { reveal: () => secret } }] }, masked],
    ["no key at all", { secret: [] }, "`secret` is an empty array."],
    ["eleven keys", { secret: keys(11) }, "`secret` has more than 10 keys."],
    ["the same key twice", { secret: twice }, "`secret` contains the same key twice."],
    ["the same text twice", { secret: [secret, secret] }, "`secret` contains the same key twice."],
    ["the same id twice", { secret: keyed("a", "a") }, "`secret` has two keys with the same id."],
    ["a key without an id", { secret: keyed(undefined) }, "`secret` has a key without an id."],
    [
      "an invalid expiry",
      { secret: expiring("soon") },
      "`secret` has an expiresAt that is neither",
    ],
    ["expiry in seconds", { secret: expiring(1e9) }, "`secret` has an expiresAt that is neither"],
    ["expired keys", { secret: expiring(1e12) }, "`secret` contains only expired keys."],
    ["null in a list", { secret: [secret, null] }, "`secret[1]` is null."],
    ["a padded listed key", { secret: [`${secret} `] }, `\`secret[0]\` ${space}`],
    ["a missing listed key", { secret: [{ id: "a" }] }, "`secret[0].key` is undefined."],
    [
      "a list as listed key",
      { secret: [{ id: "a", key: [undefined] }] },
      "`secret[0].key` is an array.",
    ],
  ],
  unknown_option: [
    ["another case", { leaseMS: 1 }, "`leaseMS` is not an option. Did you mean `leaseMs`?"],
    ["a lost unit", { handlerTimeout: 1 }, "Did you mean `handlerTimeoutMs`?"],
    ["a plural", { secret: undefined, secrets: "a" }, "Did you mean `secret`?"],
    [
      "nothing similar",
      { retries: 5 },
      "`retries` is not an option. The options are secret, on, scheme, ",
    ],
    ["a timeout", { storeTimeouts: { claims: 5 } }, "Did you mean `storeTimeouts.claim`?"],
    ["an odd timeout", { storeTimeouts: { forget: 5 } }, "`storeTimeouts.forget` is not an"],
    ["an expiry", { secret: [{ id: "a", key: "x", expires: 5 }] }, "`secret[0].expiresAt`?"],
  ],
  invalid_handler: [
    ["no handlers", { on: undefined }, `\`on\` is undefined. ${handlers}`],
    ["null", { on: null }, `\`on\` is null. ${handlers}`],
    ["text", { on: "email.sent" }, `\`on\` is a string. ${handlers}`],
    ["an empty object", { on: {} }, `\`on\` has no handlers. ${handlers}`],
    ["only undefined handlers", { on: { a: undefined } }, `\`on\` has no handlers. ${handlers}`],
    ["a handler of text", { on: { a: "b" } }, '`on["a"]` is a string. Pass a function.'],
    ["a null handler", { on: { a: null } }, '`on["a"]` is null. Pass a function.'],
    ["an empty key", { on: { "": onParked } }, '`on[""]` matches no event. Write a type, "'],
    ["a misplaced *", { on: { "email*": onParked } }, 'Write "email" or "email.*".'],
    ["a * in the middle", { on: { "email.*.x": onParked } }, 'Write "email" or "email.*".'],
    ["two *", { on: { "*.*": onParked } }, '`on["*.*"]` matches no event. Write a type, "'],
  ],
  missing_name: [
    ["a shared store", { store }, "`name` is missing. It separates the records"],
    ["an empty name", { name: "" }, "`name` is missing. It separates the records"],
  ],
  missing_event_id: [
    ["dedupeBy event", { dedupeBy: "event" }, '`eventId` is missing. `dedupeBy: "event"` requires'],
  ],
  missing_on_parked: [["maxRuns", { maxRuns: 3 }, "`onParked` is missing. `maxRuns` requires it,"]],
  invalid_option: [
    ["a long name", { name: "n".repeat(257) }, "`name` is a string. Pass 1 to 256 characters."],
    ["a name of 5", { name: 5 }, "`name` is a number. Pass 1 to 256 characters."],
    ["another store", { store: new Map() }, "`store` is an object without the required members."],
    ["a client as store", { store: client }, "Pass memoryStore(), redisStore(client) or"],
    ["null as store", { store: null }, "`store` is null. Pass memoryStore()"],
    ["null as clock", { clock: null }, "`clock` is null. Omit it, or pass an object with now"],
    ["Date as clock", { clock: Date }, "`clock` is a function. Omit it"],
    ["a list as dedupeBy", { dedupeBy: ["event"] }, `\`dedupeBy\` is an array. ${kinds}`],
    ["an unknown dedupeBy", { dedupeBy: "id" }, `\`dedupeBy\` is a string. ${kinds}`],
    ["more than a dedupeBy", { dedupeBy: "bodyguard" }, kinds],
    ["the end of a dedupeBy", { dedupeBy: "somebody" }, kinds],
    ["eventType as text", { eventType: "type" }, "`eventType` is a string. Pass a function."],
    ["an observer object", { observe: {} }, "`observe` is an object without"],
    ["onParked as text", { onParked: "queue" }, "`onParked` is a string. Pass a function."],
    ["true as log", { log: true }, "`log` is a boolean. Pass a function."],
    ["maxRuns of 0", { maxRuns: 0, onParked }, `\`maxRuns\` is 0, ${whole} 1 to 1000000.`],
    ["half a run", { maxRuns: 1.5, onParked }, `\`maxRuns\` is 1.5, ${whole}`],
    ["a million runs", { maxRuns: 1_000_001, onParked }, `\`maxRuns\` is 1000001, ${whole}`],
    ["runs as text", { maxRuns: "3", onParked }, `\`maxRuns\` is a string, ${whole}`],
    ["NaN runs", { maxRuns: Number.NaN, onParked }, `\`maxRuns\` is NaN, ${whole}`],
    ["an unknown onStoreError", { onStoreError: "ignore" }, `is a string. ${ways}`],
    ["true as onStoreError", { onStoreError: true }, `\`onStoreError\` is a boolean. ${ways}`],
    ["half an onStoreError", { onStoreError: "proces" }, ways],
    ["more than an onStoreError", { onStoreError: "processed" }, ways],
    ["the end of an onStoreError", { onStoreError: "reprocess" }, ways],
    [
      "a function as schema",
      { events: { a: onParked } },
      `\`events["a"]\` is a function. ${schema}`,
    ],
    ["no schema", { events: { a: undefined } }, `\`events["a"]\` is undefined. ${schema}`],
    ["null as schema", { events: { a: null } }, `\`events["a"]\` is null. ${schema}`],
    ["a schema that cannot validate", { events: { a: broken } }, schema],
    ["null as events", { events: null }, "`events` is null. Pass an object that maps"],
    ["a body limit of 0", { maxBodyBytes: 0 }, `\`maxBodyBytes\` is 0, ${whole} 1 to 104857600.`],
    ["a body limit over 100 MiB", { maxBodyBytes: 104_857_601 }, whole],
    ["half a millisecond", { leaseMs: 10_000.5 }, `\`leaseMs\` is 10000.5, ${whole}`],
    ["a duration as text", { leaseMs: "30s" }, `\`leaseMs\` is a string, ${whole}`],
    ["NaN", { leaseMs: Number.NaN }, `\`leaseMs\` is NaN, ${whole}`],
    ["null as lease", { leaseMs: null }, `\`leaseMs\` is null, ${whole}`],
    ["a lease below its floor", { leaseMs: 9_999 }, `${whole} 10000 to 3600000.`],
    ["a lease over an hour", { leaseMs: 3_600_001 }, `${whole} 10000 to 3600000.`],
    ["a handler timeout of 0", { handlerTimeoutMs: 0 }, `is 0, ${whole} 1 to 25000. https:`],
    [
      "a handler of 25 s",
      { handlerTimeoutMs: 25_001 },
      "1 to 25000. For 25001, raise `leaseMs` to 30001.",
    ],
    ["a handler of a day", { handlerTimeoutMs: 86_400_000 }, "1 to 25000. https:"],
    ["runs shorter than the lease", { maxRunMs: 29_999 }, `${whole} 30000 to 2147483647.`],
    ["runs longer than timers reach", { maxRunMs: 2 ** 31 }, `${whole} 30000 to 2147483647.`],
    ["a retention within a run", { retainMs: 929_999 }, `${whole} 930000 to`],
    ["null as timeouts", { storeTimeouts: null }, "`storeTimeouts` is null. Pass an object"],
    ["a timeout of 0", { storeTimeouts: { claim: 0 } }, "`storeTimeouts.claim` is 0,"],
    ["11 s", { storeTimeouts: { complete: 10_001 } }, `.complete\` is 10001, ${whole} 1 to 10000`],
  ],
};

describe.each(Object.entries(refused))("a receiver is refused as %s for", (code, rows) => {
  test.each(rows)("%s", (_, options, text) => {
    const error = refusal(options);
    expect(error).toMatchObject({ name: "ConfigError", code });
    expect(error.message).toContain(text);
    expect(error.message.startsWith(`\`${error.option}\` `)).toBe(true);
    expect(error.message.endsWith(` ${pageLink("docs/configuration-errors", code)}`)).toBe(true);
    // Logged lines are cut to 500 characters, and everything except ASCII is escaped.
    expect(error.message).toMatch(/^[ -~]{1,450}$/);
    expect(error.message).not.toMatch(/whsec_\w|do_not_show/);
  });
});

test.each([undefined, null, "x", 5, () => {}])("%s in place of options is refused", (options) => {
  for (const build of [create, memoryStore as (options: unknown) => unknown]) {
    if (options === undefined && build !== create) continue;
    const error = errorOf(() => build(options));
    expect(error).toMatchObject({ code: "invalid_option", option: "options" });
    expect(error.message).toContain("Pass an options object.");
  }
});

test.each([
  [{ clock: null }, "invalid_option", "clock"],
  [{ maxRecord: 5 }, "unknown_option", "maxRecord"],
  [{ maxRecords: 0 }, "invalid_option", "maxRecords"],
])("a memory store with %j is refused", (options, code, option) => {
  expect(errorOf(() => memoryStore(options as object))).toMatchObject({ code, option });
});

test("an argument that drain or forget lacks is refused in the same way", async () => {
  const { receiver } = observed();
  const { drain, forget } = receiver as unknown as Record<string, () => Promise<unknown>>;
  const invalid = { name: "ConfigError", code: "invalid_option" };
  await expect(drain?.()).rejects.toMatchObject({ ...invalid, option: "deadlineMs" });
  await expect(forget?.()).rejects.toMatchObject({ ...invalid, option: "deliveryId" });
});

test("the text on edge platforms is one sentence with the name of the option", () => {
  expect(briefly("invalid_secret", "secret", "whsec_x")).toBe("`secret` is invalid.");
});

test("the limits themselves are allowed, and undefined means the default", () => {
  const limits: Partial<ReceiverOptions>[] = [
    {
      maxBodyBytes: 1,
      leaseMs: 10_000,
      handlerTimeoutMs: 5_000,
      maxRunMs: 10_000,
      retainMs: 20_000,
    },
    { maxBodyBytes: 104_857_600, leaseMs: 3_600_000, handlerTimeoutMs: 3_595_000 },
    { maxRunMs: 2_147_483_647, retainMs: 31_536_000_000, name: "n".repeat(256) },
    { storeTimeouts: { claim: 1, extend: 10_000 }, retainMs: week },
    Object.fromEntries(
      "name store dedupeBy eventId leaseMs observe log clock events maxRuns onParked onStoreError"
        .split(" ")
        .map((option) => [option, undefined]),
    ),
    { storeTimeouts: { claim: undefined } },
    { maxRuns: 1, onParked },
    { maxRuns: 1_000_000, onParked },
    { onStoreError: "refuse" },
    { onStoreError: "process" },
    { events: {} },
    { secret: [{ id: "a", key: "inner spaces are a key's own business", expiresAt: undefined }] },
    { on: { constructor: () => {}, "email.*": () => {}, "*": () => {}, "a.b.*": () => {} } },
    { dedupeBy: "event", eventId: () => "evt" },
    // The defaults of the other durations depend on these.
    { leaseMs: 10_000 },
    { leaseMs: 3_600_000 },
    { maxRunMs: 2_000_000_000 },
  ];
  for (const options of limits) expect(() => create({ secret, on, ...options })).not.toThrow();
});

test("a handler that is undefined counts as absent, and another one receives its events", async () => {
  const ran: string[] = [];
  const receiver = createReceiver({
    secret,
    on: { "email.sent": undefined, "email.*": () => ran.push("email.*"), "a*b": undefined },
  });
  expect((await receiver.receive(await signed(eventBody(), {}, secret))).code).toBe("processed");
  expect(ran).toEqual(["email.*"]);
});

test.each([
  ["7 days", {}, { leaseMs: 30_000, retainMs: week }],
  ["7 days with another leaseMs", { leaseMs: 60_000 }, { leaseMs: 60_000, retainMs: week }],
  [
    "as long as a run and its lease",
    { maxRunMs: 2e9 },
    { leaseMs: 30_000, retainMs: 2_000_030_000 },
  ],
])("records are kept for %s unless retainMs is set", async (_, options, request) => {
  const calls: NotedCall[] = [];
  const noted = noting(calls, memoryStore());
  await send(createReceiver({ secret, on, store: noted, ...options }), undefined, {}, secret);
  expect(calls).toMatchObject([{ request }, { request }]);
});

test("keys do not appear in errors, util.inspect or JSON", () => {
  const receiver = createReceiver({ secret: [{ id: "a", key: secret }], on });
  const padded = refusal({ secret: [{ id: "a", key: `${secret} ` }] });
  for (const shown of [padded, refusal({ secret: twice }), receiver]) {
    const all = inspect(shown, { depth: Infinity, showHidden: true }) + JSON.stringify(shown);
    expect(all + String((shown as Error).stack)).not.toContain("do_not_show");
  }
});
