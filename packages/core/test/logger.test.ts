import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn } from "@svc-webhooks/kit/tables";
import { fakeClock } from "@svc-webhooks/testing";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import winston from "winston";
import {
  BodyError,
  createReceiver,
  memoryStore,
  PermanentError,
  RetryError,
  type DeliveryStore,
  type Logger,
  type ReceiverOptions,
  type Secrets,
} from "../src/index.js";
import { levels } from "../src/log/log.js";
import { never, send } from "./support.js";

interface Logged {
  readonly level: string;
  readonly text: string;
  readonly fields: unknown;
}

/** A receiver on a fake clock, and its lines. By default it handles every event. */
function logging(options: Partial<ReceiverOptions> = {}, faults: Partial<DeliveryStore> = {}) {
  const lines: Logged[] = [];
  const noted = (level: string) => (text: string, fields: unknown) =>
    lines.push({ level, text, fields });
  const logger = { info: noted("info"), warn: noted("warn"), error: noted("error") };
  const clock = fakeClock();
  const receiver = createReceiver({
    secret,
    name: "billing",
    clock,
    store: { ...memoryStore({ clock }), ...faults },
    logger,
    on: { "*": () => {} },
    ...options,
  });
  return { receiver, clock, lines };
}

const forged = unsigned(eventBody(), { "x-svc-signature": forgedSignature });
const minute = 60_000;

describe("the line of a refused request", () => {
  test.for<[string, string, Record<string, string>]>([
    ["signature_missing", "no X-SVC-Signature", {}],
    ["signature_malformed", "64 hex digits", { "x-svc-signature": "sha1=00" }],
    ["signature_mismatch", "Compare `secret`", { "x-svc-signature": forgedSignature }],
    ["encoding_unsupported", "compress", { "content-encoding": "gzip" }],
    ["body_too_large", "larger than `maxBodyBytes`", { "content-length": "2000000" }],
  ])(
    "%s names the likely cause, as an error until a delivery is verified",
    async ([code, cause, headers]) => {
      const { receiver, clock, lines } = logging();
      const refused = unsigned(eventBody(), headers);
      await receiver.receive(refused);
      await send(receiver);
      await clock.advance(minute);
      await receiver.receive(refused);
      const details = "Fingerprints of `secret`: default: short key";
      const fields = {
        receiver: "billing",
        code,
        ...(code === "signature_mismatch" && { details }),
      };
      const text = expect.stringMatching(`^svc-webhooks billing: ${code}: .*${cause}`);
      expect(lines).toEqual([
        { level: "error", text, fields },
        { level: "warn", text, fields },
      ]);
      const unverified = "has not verified any delivery yet";
      expect(lines.map((line) => line.text.includes(unverified))).toEqual([true, false]);
    },
  );

  test("is printed once a minute per code, with the number omitted", async () => {
    const { receiver, clock, lines } = logging();
    for (let sent = 0; sent < 100; sent += 1) await receiver.receive(forged);
    await clock.advance(minute);
    expect(lines).toHaveLength(1);
    await receiver.receive(forged);
    expect(lines).toMatchObject([{}, { text: expect.stringMatching(/ \(and 99 more\)$/) }]);
  });

  test("is absent for other methods and for clients that disconnect", async () => {
    const { receiver, lines } = logging();
    const body = () => Promise.reject(new BodyError("aborted"));
    expect((await receiver.receive({ ...forged, method: "GET" })).code).toBe("method_not_allowed");
    expect((await receiver.receive({ ...forged, body })).code).toBe("aborted");
    expect(lines).toEqual([]);
  });

  test.for([
    ["delivery_id_missing", eventBody(), { "x-svc-delivery-id": "" }],
    ["delivery_id_malformed", eventBody(), { "x-svc-delivery-id": "a,b" }],
    ["malformed_body", "[]", {}],
  ] as const)("%s is an error: the delivery is genuine", async ([code, body, headers]) => {
    const { receiver, lines } = logging();
    await send(receiver, body, headers);
    expect(lines).toMatchObject([{ level: "error", fields: { code } }]);
    expect(lines[0]?.text).toContain("genuine");
  });
});

describe("the line of an ignored event", () => {
  test("is printed once per type, as a warning if a key is similar", async () => {
    const { receiver, clock, lines } = logging({ on: { "email.sent": () => {} } });
    for (const type of ["email.opened", "email.opened", "email.snet"]) {
      await send(receiver, eventBody(type), { "x-svc-delivery-id": `dlv_${clock.now()}` });
      await clock.advance(minute);
    }
    expect(lines).toMatchObject([
      { level: "info", fields: { code: "ignored", type: "email.opened" } },
      { level: "warn", fields: { code: "ignored", type: "email.snet" } },
    ]);
    expect(lines[0]?.text).toMatch(/no handler for "email.opened"$/);
    expect(lines[1]?.text).toMatch(/no handler for "email.snet"\. Did you mean "email.sent"\?$/);
  });

  test("is printed for 100 types, and from then on once a minute", async () => {
    const { receiver, clock, lines } = logging({ on: { "email.sent": () => {} } });
    for (let type = 0; type < 1_000; type += 1) await send(receiver, eventBody(`type ${type}`));
    expect(lines).toHaveLength(101);
    await clock.advance(minute);
    for (let type = 0; type < 1_000; type += 1) await send(receiver, eventBody(`type ${type}`));
    expect(lines).toHaveLength(102);
    expect(lines.at(-1)?.text).toMatch(/ \(and 899 more\)$/);
  });
});

describe("the line of an error of a handler", () => {
  const facts = { receiver: "billing", deliveryId: "dlv_1", type: "email.sent", run: 1 };

  test("has the stack, the causes, the ids, the type and the run", async () => {
    const error = new Error("no\nroom", { cause: new Error("disk full") });
    const { receiver, lines } = logging({ on: { "*": () => Promise.reject(error) } });
    await send(receiver);
    expect(lines).toMatchObject([{ level: "error", fields: { ...facts, code: "handler_failed" } }]);
    expect(lines[0]?.text).toMatch(
      /^svc-webhooks billing: handler_failed: \{"deliveryId":"dlv_1","type":"email.sent","run":1\} Error: no\\u\{a\}room\n +at [^]*\n  caused by: Error: disk full\n/,
    );
  });

  test("is a warning of one line for a RetryError", async () => {
    const error = new RetryError({ retryAfterMs: 90_000, cause: new Error("rate limit") });
    const { receiver, lines } = logging({ on: { "*": () => Promise.reject(error) } });
    await send(receiver);
    expect(lines).toMatchObject([{ level: "warn", fields: { ...facts, code: "handler_failed" } }]);
    expect(lines[0]?.text).toMatch(/ retry after 90000 ms: rate limit$/);
  });

  test.for([
    [
      new AggregateError([new Error("full"), new Error("slow")], "all failed"),
      /all failed\n[^]*caused by: Error: full\n[^]*caused by: Error: slow\n/,
    ],
    [undefined, / undefined$/],
    [new RetryError("soon" as never), /retryAfterMs[^]*\n +at /],
  ] as const)("shows all of %o", async ([error, text]) => {
    const { receiver, lines } = logging({ on: { "*": () => Promise.reject(error) } });
    await send(receiver);
    expect(lines).toMatchObject([{ level: "error", text: expect.stringMatching(text) }]);
  });

  test("states that a PermanentError is dropped if there is no onParked", async () => {
    const error = new PermanentError("no such account");
    const { receiver, lines } = logging({ on: { "*": () => Promise.reject(error) } });
    await send(receiver);
    expect(lines).toMatchObject([{ level: "error", fields: { ...facts, code: "parked" } }]);
    expect(lines[0]?.text).toMatch(
      /parked and dropped: there is no onParked PermanentError: no such account\n/,
    );
  });

  test("is printed for the handler and for onParked if both fail", async () => {
    const { receiver, lines } = logging({
      on: { "*": () => Promise.reject(new PermanentError("no such account")) },
      onParked: () => Promise.reject(new Error("disk full")),
    });
    await send(receiver);
    expect(lines.map(({ text }) => /(?:no such account|disk full)/.exec(text)?.[0])).toEqual([
      "no such account",
      "disk full",
    ]);
  });
});

describe("one line a minute is printed for", () => {
  const ids = ["dlv_1", "dlv_2", "dlv_3"];

  test("in_flight", async () => {
    const { opened, open } = gate();
    const { receiver, lines } = logging({ on: { "*": () => opened } });
    const first = send(receiver);
    await settled();
    for (const _ of ids) await send(receiver);
    open();
    await first;
    expect(lines).toMatchObject([{ level: "info", fields: { code: "in_flight" } }]);
    expect(lines[0]?.text).toContain('{"deliveryId":"dlv_1","type":"email.sent"}');
  });

  test("handler_timeout", async () => {
    const { receiver, clock, lines } = logging({ on: { "*": never } });
    for (const id of ids) void send(receiver, eventBody(), { "x-svc-delivery-id": id });
    await clock.advance(10_000);
    expect(lines).toMatchObject([
      { level: "warn", fields: { code: "handler_timeout", deliveryId: "dlv_1", run: 1 } },
    ]);
  });

  test("old_secret", async () => {
    const both = [
      { id: "new", key: "whsec_new" },
      { id: "old", key: secret },
    ];
    const { receiver, lines } = logging({ secret: both });
    for (const id of ids) await send(receiver, eventBody(), { "x-svc-delivery-id": id });
    expect(lines).toMatchObject([
      { level: "warn", fields: { code: "old_secret", deliveryId: "dlv_1" } },
    ]);
  });

  test("complete_failed", async () => {
    const { receiver, lines } = logging(
      {},
      { complete: () => Promise.reject(new Error("READONLY")) },
    );
    for (const id of ids) await send(receiver, eventBody(), { "x-svc-delivery-id": id });
    expect(lines).toMatchObject([
      { level: "warn", fields: { code: "complete_failed", deliveryId: "dlv_1", run: 1 } },
    ]);
    expect(lines[0]?.text).toContain("READONLY");
  });
});

test("facts that cannot be printed change no outcome", async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const claim: DeliveryStore["claim"] = async (...call) => ({
    ...(await store.claim(...call)),
    // Drivers of SQL databases count in BigInt.
    run: 1n as unknown as number,
  });
  const { receiver, lines } = logging(
    {
      clock,
      on: {
        "*": (_, context) => {
          Object.assign(context, { type: { toString: () => "forged" } });
          throw new Error("no room");
        },
      },
    },
    { claim },
  );
  expect((await send(receiver)).code).toBe("handler_failed");
  expect(lines).toEqual([]);
});

test("errors of a hook that differ are one line a minute", async () => {
  let calls = 0;
  const observe = () => Promise.reject(new Error(`request ${(calls += 1)} failed`));
  const { receiver, lines } = logging({ observe });
  for (let sent = 0; sent < 200; sent += 1) await receiver.receive(forged);
  await settled();
  expect(lines).toMatchObject([
    { level: "error", fields: { code: "signature_mismatch" } },
    { level: "error", fields: { code: "internal_error" } },
  ]);
});

test("processed and duplicate have no line", async () => {
  const { receiver, lines } = logging();
  expect(await send(receiver)).toMatchObject({ code: "processed" });
  expect(await send(receiver)).toMatchObject({ code: "duplicate" });
  expect(lines).toEqual([]);
});

test("no text of a sender is printed unescaped", async () => {
  const { receiver, lines } = logging({ on: { "email.sent": () => {} } });
  await send(receiver, eventBody("a\nsvc-webhooks billing: forged \u{1b}[31m" + "é".repeat(1_000)));
  for (const { text, fields } of lines) {
    expect(text).toMatch(/^[ -~]{1,9000}$/);
    const { type, details } = fields as { readonly type: string; readonly details: string };
    expect(type).toMatch(/^[ -~]{1,5000}$/);
    expect(details).toMatch(/^no handler for "a\\n[ -~]{1,5000}$/);
    expect(text).toContain(` ${details}`);
  }
  expect(lines).toHaveLength(1);
});

describe("a logger", () => {
  const throwing = { on: { "*": () => Promise.reject(new Error("no room")) } };

  test("by default is console, which gets the text alone", async () => {
    const error = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => error.mockRestore());
    await send(createReceiver({ secret, ...throwing }));
    expect(error.mock.calls).toEqual([[expect.stringMatching(/handler_failed: .*no room/)]]);
  });

  test("of pino gets the fields first", async () => {
    const written: string[] = [];
    const logger = pino({}, { write: (line: string) => written.push(line) });
    await send(logging({ logger, ...throwing }).receiver);
    expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      {
        level: 50,
        msg: expect.stringContaining("no room"),
        receiver: "billing",
        code: "handler_failed",
        deliveryId: "dlv_1",
        type: "email.sent",
        run: 1,
      },
    ]);
  });

  test("of winston gets the text first", async () => {
    const written: unknown[] = [];
    const stream = new winston.transports.Stream({
      stream: new (await import("node:stream")).Writable({
        write(chunk: Buffer, _encoding, done) {
          written.push(JSON.parse(chunk.toString()));
          done();
        },
      }),
    });
    const logger = winston.createLogger({ transports: [stream] });
    await send(logging({ logger, ...throwing }).receiver);
    expect(written).toMatchObject([
      {
        level: "error",
        message: expect.stringContaining("no room"),
        receiver: "billing",
        code: "handler_failed",
        deliveryId: "dlv_1",
      },
    ]);
  });

  test.for([[null], [{ info() {}, warn() {} }], [() => {}]])("%o is refused", ([logger]) => {
    expect(() => logging({ logger: logger as unknown as Logger })).toThrow(
      expect.objectContaining({ code: "invalid_option", option: "logger" }),
    );
  });

  test("that throws changes no outcome, and its error goes to onInternalError", async () => {
    const errors: unknown[] = [];
    const throws = () => {
      throw new Error("log is full");
    };
    const { receiver } = logging({
      ...throwing,
      logger: { info: throws, warn: throws, error: throws },
      onInternalError: (error) => errors.push(error),
    });
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(errors).toMatchObject([{ message: "log is full" }]);
  });

  test("gets no line that log, onHandlerError or onInternalError receives", async () => {
    const given: string[] = [];
    const hooks: Partial<ReceiverOptions> = {
      log: (line) => given.push(line),
      onHandlerError: (error) => given.push(String(error)),
      onInternalError: (error) => given.push(String(error)),
    };
    const { receiver, lines } = logging(
      { ...throwing, ...hooks },
      { release: () => Promise.reject(new Error("READONLY")) },
    );
    await send(receiver);
    await receiver.receive(forged);
    expect(given).toEqual([
      "Error: no room",
      "Error: READONLY",
      expect.stringContaining("signature_mismatch"),
    ]);
    expect(lines).toEqual([]);
  });
});

describe("the line of a signature that does not match", () => {
  const long = "whsec_0123456789abcdef0123456789abcdef";
  const label = createHmac("sha256", long)
    .update("svc-webhooks fingerprint v1")
    .digest("hex")
    .slice(0, 8);
  const expiresAt = fakeClock().now() - 86_400_000;
  const since = `expired ${new Date(expiresAt).toISOString()}`;
  const lineFor = async (key: Secrets, signedWith: string) => {
    const { receiver, lines } = logging({ secret: key });
    await receiver.receive(await signed(eventBody(), {}, signedWith));
    return lines[0]?.text;
  };

  test.for<[string, Secrets, string]>([
    ["a key by its fingerprint", long, `default: ${label}`],
    ["a short key", "whsec_short", "default: short key"],
    ["a text without its prefix", long.slice(6), "default: ……, without whsec_"],
    ["bytes, which have no prefix", new Uint8Array(32).fill(1), "default: ……"],
    [
      "an expired key",
      [
        { id: "new", key: "whsec_new" },
        { id: "old", key: long, expiresAt },
      ],
      `new: short key; old: ${label}, ${since}`,
    ],
  ])("names %s", async ([, key, text]) => {
    const [start = "", end = ""] = text.split("……");
    expect(await lineFor(key, "whsec_another")).toMatch(
      new RegExp(
        `mismatch: Fingerprints of .secret.: ${start}${text.includes("……") ? "[0-9a-f]{8}" : ""}${end}\\. The signature`,
      ),
    );
  });

  test("states that an expired key made the signature, and since when it has expired", async () => {
    const keys = [
      { id: "new", key: "whsec_new" },
      { id: "old", key: long, expiresAt },
    ];
    expect(await lineFor(keys, long)).toContain(`${since}, and made this signature.`);
  });

  test("is computed once per printed line", async () => {
    const known = () => long;
    const { receiver } = logging({ secret: known });
    const digests = vi.spyOn(Array.prototype, "join");
    onTestFinished(() => digests.mockRestore());
    for (const _ of Array(50)) await receiver.receive(forged);
    expect(digests.mock.calls.filter(([separator]) => separator === "; ")).toHaveLength(1);
  });
});

test("a secret that is the API key of the process is refused", () => {
  vi.stubEnv("SVC_API_KEY", "svc_live_0123456789");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  expect(() => logging({ secret: "svc_live_0123456789" })).toThrow(
    expect.objectContaining({
      code: "invalid_secret",
      message: expect.stringContaining("is the API key of this process, SVC_API_KEY.") as string,
    }),
  );
});

describe("the line of a processed delivery", () => {
  const processed = (logProcessed?: boolean) => {
    const { receiver, lines } = logging({ logProcessed });
    return { send: () => send(receiver), lines };
  };

  test.for([
    ["in a terminal", true, undefined, 1],
    ["in a terminal in production", true, "production", 0],
    ["in a pipe", false, undefined, 0],
  ] as const)("is printed in development only: %s", async ([, isTTY, environment, count]) => {
    const before = Object.getOwnPropertyDescriptor(process.stdout, "isTTY");
    Object.defineProperty(process.stdout, "isTTY", { value: isTTY, configurable: true });
    vi.stubEnv("NODE_ENV", environment);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      if (before) Object.defineProperty(process.stdout, "isTTY", before);
      else Reflect.deleteProperty(process.stdout, "isTTY");
    });
    const one = processed();
    await one.send();
    expect(one.lines).toHaveLength(count);
  });

  test("is printed for each with logProcessed, and not for its duplicates", async () => {
    const { lines, ...one } = processed(true);
    await one.send();
    await one.send();
    expect(lines).toEqual([
      {
        level: "info",
        text: 'svc-webhooks billing: processed: {"deliveryId":"dlv_1","type":"email.sent","run":1}',
        fields: expect.objectContaining({ code: "processed", deliveryId: "dlv_1" }) as unknown,
      },
    ]);
  });

  test("is refused an option that is not a boolean", () => {
    expect(() => logging({ logProcessed: "no" as unknown as boolean })).toThrow(
      expect.objectContaining({
        option: "logProcessed",
        message: expect.stringContaining("is a string. Pass true or false.") as unknown,
      }),
    );
  });
});

test("a copy under another delivery id names both subscriptions, if they differ", async () => {
  const by = (deliveryId: string, subscription: string) =>
    signed(eventBody(), { "x-svc-delivery-id": deliveryId, "x-svc-subscription-id": subscription });
  const { receiver, clock, lines } = logging({ dedupeBy: "body" });
  await receiver.receive(await by("dlv_1", "sub_1"));
  await receiver.receive(await by("dlv_2", "sub_1"));
  await clock.advance(minute);
  await receiver.receive(await by("dlv_3", "sub_2"));
  expect(lines.map(({ text }) => text)).toEqual([
    expect.not.stringContaining("subscriptions"),
    expect.stringContaining("other_delivery_id: {") as string,
  ]);
  expect(lines[1]?.text).toContain("subscriptions sub_1 and sub_2.");
});

test("the list in docs/logging.md states the level of each outcome", () => {
  const page = readFileSync(join(root, "docs/logging.md"), "utf8");
  const rows = Array.from(page.matchAll(/^- ((?:`\w+`(?:, )?)+): (\w+)\./gm)).flatMap(
    ([, codes = "", level = ""]) => codeIn(codes).map((name) => [name, level] as const),
  );
  const documented = Object.fromEntries(rows.filter(([name]) => name in levels));
  // These two have lines of their own.
  const expected = { ...levels, handler_failed: "error", parked: "error" };
  const none = Object.entries(expected).map(([name, level = "none"]) => [name, level]);
  expect(documented).toEqual(Object.fromEntries(none));
});
