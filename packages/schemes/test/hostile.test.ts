import { describe, expect, test } from "vitest";
import { senders as known } from "../src/senders.js";
import {
  receiving,
  sender,
  senders,
  sendersWith,
  signatureHeader,
  withHeader,
  signedWorldOf,
  worldOf,
  type Sender,
} from "./support.js";

/** Sends an event after changing the header of its signature. */
async function sendWith(one: Sender, change: (value: string) => string) {
  const { receive, body, headers } = await signedWorldOf(one);
  // The digits of a genuine signature must not remain in a buffer that later comparisons use.
  expect(await receive(headers, body)).toMatchObject({ code: "processed" });
  const changed = withHeader(headers, signatureHeader(one), change);
  expect(changed).not.toEqual(headers);
  return receive(changed, body);
}

/** The digits of a signature are the last part of its header for every sender. */
const digits = /[\da-f]{64,}$/;
const isHex = ({ name }: Sender) => known[name].form.encoding === "hex";
const isBase64 = (one: Sender) => !isHex(one);

test.each([
  ["shopify", "x-shopify-topic"],
  ["github", "x-github-event"],
  ["woocommerce", "x-wc-webhook-topic"],
] as const)(
  "a header with the type that a proxy has doubled is refused: %s",
  async (name, header) => {
    const one = sender(name);
    const { receive, body, headers } = await signedWorldOf(one);
    const changed = withHeader(headers, header, (value) => `${value}, ${value}`);
    expect(await receive(changed, body)).toMatchObject({ code: "event_untyped", status: 500 });
    expect(await receive(headers, body)).toMatchObject({ code: "processed" });
  },
);

describe.each(senders)("$name", (one) => {
  test.each<[string, (value: string) => string]>([
    ["two headers, as adapters join them", (value) => `${value}, ${value}`],
    ["two headers joined without a space", (value) => `${value},${value}`],
    [
      "6 signatures",
      (value) => `${value}${`${one.separator ?? ","}${lastPart(one, value)}`.repeat(5)}`,
    ],
    ["16 kB after it", (value) => value + "0".repeat(16_384)],
    [
      "16 kB of another version",
      (value) => `${value}${one.separator ?? ","}v9=${"0".repeat(16_384)}`,
    ],
    ["a space before it", (value) => ` ${value}`],
    ["a space after it", (value) => `${value} `],
    ["a line break after it", (value) => `${value}\n`],
    ["a no-break space after it", (value) => `${value}\u00a0`],
    ["a NUL after it", (value) => `${value}\0`],
    ["its last character missing", (value) => value.slice(0, -1)],
  ])("%s is malformed", async (_what, change) => {
    const outcome = await sendWith(one, change);
    expect(outcome).toMatchObject({ code: "signature_malformed", status: 401 });
  });

  test("no header is missing", async () => {
    expect(await sendWith(one, () => "")).toMatchObject({ code: "signature_missing" });
  });

  test("a signature of another body is a mismatch", async () => {
    const { receive, sign, clock } = await worldOf(one);
    const body = one.body({ at: clock.now() });
    const headers = await sign(body.replace("{", "{ "), { at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({ code: "signature_mismatch" });
  });

  test("a key of another endpoint is a mismatch", async () => {
    const { receive, clock } = await worldOf(one);
    const other = await worldOf(one);
    const body = one.body({ at: clock.now() });
    const headers = await other.sign(body, { at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({ code: "signature_mismatch" });
  });

  test("a body that begins with digits is not an event, although it is signed", async () => {
    const { receive, sign, clock } = await worldOf(one);
    const body = `1${one.body({ at: clock.now() })}`;
    const headers = await sign(body, { at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({ code: "malformed_body" });
  });

  test.each(["null", "true", "7", '"text"', "", "{", "[", "a=b"])(
    "the body %j is not an event, although it is signed",
    async (body) => {
      const { receive, sign, clock } = await worldOf(one);
      const headers = await sign(body, { at: clock.now() });
      expect(await receive(headers, body)).toMatchObject({ code: "malformed_body" });
    },
  );

  test("__proto__ as id, type and field is text like any other", async () => {
    const { receive, sign, clock } = await worldOf(one);
    const body = one
      .body({ at: clock.now(), id: "__proto__", type: "__proto__" })
      .replace("{", '{"__proto__":{"polluted":true},');
    const headers = await sign(body, {
      at: clock.now(),
      deliveryId: "__proto__",
      type: "__proto__",
    });
    const outcome = await receive(headers, body);
    expect(outcome).toMatchObject({
      code: "processed",
      type: one.name === "sendgrid" ? "events" : one.type.replace("sent", "__proto__"),
    });
    expect(Object.prototype).not.toHaveProperty("polluted");
  });
});

const version = /(?:^|\b)(?:v1a|v1|v0|h1|sha256)(?=[=,])/;

test.each(sendersWith(({ name }) => known[name].form.prefix))(
  "$name: a header without a known version is malformed",
  async (one) => {
    const outcome = await sendWith(one, (value) => value.replace(version, "v9"));
    expect(outcome).toMatchObject({ code: "signature_malformed" });
  },
);

/** Returns the last signature of a header, with its version. */
const lastPart = ({ separator }: Sender, value: string) =>
  separator ? (value.split(separator).at(-1) ?? "") : value;

describe.each(sendersWith(isHex))("$name", (one) => {
  test.each([0, 1, 62, 66, 126, 130])("refuses %i hex digits", async (length) => {
    const outcome = await sendWith(one, (value) =>
      value.replace(digits, (all) => all.repeat(3).slice(0, length)),
    );
    // A header that is only the digits is missing without them.
    expect(outcome.code).toMatch(
      length === 0 ? /^signature_(?:missing|malformed)$/ : /^signature_malformed$/,
    );
  });

  test.each(["g", "é", "٣", " ", "-"])("refuses %j among the hex digits", async (character) => {
    const outcome = await sendWith(one, (value) => value.slice(0, -1) + character);
    expect(outcome).toMatchObject({ code: "signature_malformed" });
  });

  test("accepts the hex digits in upper case", async () => {
    const { receive, body, headers } = await signedWorldOf(one);
    const upper = withHeader(headers, signatureHeader(one), (value) =>
      value.replace(digits, (all) => all.toUpperCase()),
    );
    expect(await receive(upper, body)).toMatchObject({ code: "processed" });
  });
});

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the other spelling of base64 whose last digit has bits that are not used. */
const respelled = (value: string) =>
  value.replace(/(.)(=+)$/, (_all, digit: string, padding: string) => {
    const other = alphabet[alphabet.indexOf(digit) + 1] ?? "";
    return other + padding;
  });

/** Signs events until the signature in base64 has padding, and a digit that differs in the URL-safe alphabet. */
async function base64World(one: Sender) {
  const world = await worldOf(one);
  for (let count = 0; ; count += 1) {
    const at = world.clock.now();
    const body = one.body({ at }).replace(/\}(\]?)$/, `,"count":${count}}$1`);
    const headers = await world.sign(body, { at });
    const value = headers[signatureHeader(one)] ?? "";
    if (value.endsWith("=") && /[+/]/.test(value)) return { ...world, body, headers };
  }
}

describe.each(sendersWith(isBase64))("$name", (one) => {
  test.each<[string, (value: string) => string]>([
    ["without padding", (value) => value.replace(/=+$/, "")],
    ["with more padding", (value) => `${value}=`],
    ["with a space inside", (value) => `${value.slice(0, -8)} ${value.slice(-8)}`],
    ["with a line break inside", (value) => `${value.slice(0, -8)}\n${value.slice(-8)}`],
    ["in the URL-safe alphabet", (value) => value.replaceAll("+", "-").replaceAll("/", "_")],
    ["in another spelling of the last digit", respelled],
    ["with 3 bytes less", (value) => value.slice(0, -8) + value.slice(-4)],
    ["with 3 bytes more", (value) => `${value.slice(0, -4)}AAAA${value.slice(-4)}`],
  ])("refuses base64 %s", async (_what, change) => {
    const { receive, body, headers } = await base64World(one);
    const changed = withHeader(headers, signatureHeader(one), change);
    expect(changed).not.toEqual(headers);
    expect(await receive(changed, body)).toMatchObject({ code: "signature_malformed" });
    expect(await receive(headers, body)).toMatchObject({ code: "processed" });
  });
});

describe("delivery ids", () => {
  const ids: readonly [string, string, string][] = [
    ["of 256 characters", "x".repeat(256), "processed"],
    ["of 257 characters", "x".repeat(257), "delivery_id_malformed"],
    ["with a comma", "a,b", "delivery_id_malformed"],
    ["of two headers", "a, a", "delivery_id_malformed"],
    ["with a space", "a b", "delivery_id_malformed"],
    ["with a line break", "a\nb", "delivery_id_malformed"],
    ["with a character beyond ASCII", "é", "delivery_id_malformed"],
    ["with a dot", "a.b", "processed"],
    ["with a time and dots", "a.1767225600.b", "processed"],
  ];

  describe.each(sendersWith(({ id }) => id !== "hash"))("of $name", (one) => {
    test.each(ids)("an id %s", async (_what, id, code) => {
      const { receive, sign, clock } = await worldOf(one);
      const body = one.body({ at: clock.now(), id });
      const headers = await sign(body, { at: clock.now(), deliveryId: id });
      expect(await receive(headers, body)).toMatchObject({ code });
    });

    test("a delivery without an id is refused, and has no shared record", async () => {
      const { receive, sign, clock, events } = await worldOf(one);
      const body = one.body({ at: clock.now(), id: "" });
      const headers = await sign(body, { at: clock.now(), deliveryId: "" });
      const isSigned = one.id === "header" && one.timestamp !== undefined;
      expect(await receive(headers, body)).toMatchObject({
        code: isSigned ? "signature_malformed" : "delivery_id_missing",
      });
      expect(events).toEqual([]);
    });
  });

  test.each([1, true, null, {}, [], ["a"]])(
    "an id that is %j in the body is missing",
    async (id) => {
      for (const one of sendersWith((candidate) => candidate.id === "body")) {
        const { receive, sign, clock } = await worldOf(one);
        const body = one
          .body({ at: clock.now() })
          .replace(/"(?:evt_1|Ev1|ntf_1)"/, JSON.stringify(id));
        const headers = await sign(body, { at: clock.now() });
        expect(await receive(headers, body)).toMatchObject({ code: "delivery_id_missing" });
      }
    },
  );
});

describe("a text that moves between the signed parts", () => {
  test.each(["standard-webhooks", "svix", "standard-webhooks-ed25519", "polar"] as const)(
    "%s: an id that contains a time does not become the time",
    async (name) => {
      const { receive, sign, clock } = await worldOf(sender(name));
      const seconds = clock.now() / 1_000;
      const headers = await sign("{}", { at: clock.now(), deliveryId: `a.${seconds}` });
      const prefix = name === "svix" ? "svix" : "webhook";
      const moved = { ...headers, [`${prefix}-id`]: "a" };
      const outcome = await receive(moved, `${seconds}.{}`);
      // The signed bytes are the same, and the body is not JSON.
      expect(outcome).toMatchObject({ code: "malformed_body" });
    },
  );

  test.each(["discord", "sendgrid"] as const)(
    "%s: the last digit of a time does not become the first of the body",
    async (name) => {
      const one = sender(name);
      const { receive, clock, body, headers } = await signedWorldOf(one);
      const moved = withHeader(headers, one.timestamp ?? "", (time) => time.slice(0, -1));
      const digit = String(clock.now() / 1_000).at(-1) ?? "";
      expect(await receive(moved, digit + body)).toMatchObject({ code: "signature_stale" });
    },
  );
});

describe("a signature of another scheme with the same key", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const names = [
    "stripe",
    "slack",
    "paddle",
    "github",
    "shopify",
    "linear",
    "standard-webhooks",
    "notion",
    "woocommerce",
  ] as const;
  // These sign the body alone.
  const sameText = new Set(["github", "shopify", "linear", "notion", "woocommerce"]);

  test.each(
    names.flatMap((from) =>
      names
        .filter((to) => to !== from && !(sameText.has(from) && sameText.has(to)))
        .map((to) => [from, to] as const),
    ),
  )("of %s is refused by %s", async (from, to) => {
    const one = sender(to);
    const { receive, clock } = receiving(one.scheme(), { secret });
    const body = one.body({ at: clock.now() });
    const options = { secret, at: clock.now(), deliveryId: "dlv_1", type: "sent" };
    const own = await known[to].sign(body, options);
    const foreign = await known[from].sign(body, options);
    const bytes = bytesOf(foreign[signatureHeader(sender(from))] ?? "");
    const crossed = withHeader(own, signatureHeader(one), (value) =>
      replaceSignature(value, bytes),
    );
    expect(crossed).not.toEqual(own);
    expect(await receive(crossed, body)).toMatchObject({ code: "signature_mismatch" });
    expect(await receive(own, body)).toMatchObject({ code: "processed" });
  });

  const base64 = /[A-Za-z\d+/]{43}=$/;

  const bytesOf = (header: string) => {
    const hex = /[\da-f]{64}$/.exec(header)?.[0];
    return hex ? Buffer.from(hex, "hex") : Buffer.from(base64.exec(header)?.[0] ?? "", "base64");
  };

  const replaceSignature = (header: string, bytes: Buffer) =>
    /[\da-f]{64}$/.test(header)
      ? header.replace(/[\da-f]{64}$/, bytes.toString("hex"))
      : header.replace(base64, bytes.toString("base64"));
});
