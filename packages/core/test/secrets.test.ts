import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { fakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  sign,
  verify,
  WebhookError,
  type Secret,
  type Secrets,
  type SecretSource,
} from "../src/index.js";
import { never, observed, pause, send, timed, type Observed } from "./support.js";

const tried = vi.hoisted((): string[] => []);

// Comparing all keys leaves no trace outside, so the test must observe the comparison itself.
vi.mock(import("../src/crypto/hmac-node.js"), async (original) => {
  const { importKey, ...rest } = await original();
  return {
    ...rest,
    async importKey(bytes) {
      const key = await importKey(bytes);
      return {
        sign: (body) => key.sign(body),
        verify(body, hex) {
          tried.push(new TextDecoder().decode(bytes));
          return key.verify(body, hex);
        },
      };
    },
  };
});

function raise(error: unknown): never {
  throw error;
}

const current: Secret = { id: "current", key: "whsec_current" };
const previous: Secret = { id: "previous", key: "whsec_previous" };

const sendSignedWith = (receiver: Observed["receiver"], key: string | Uint8Array) =>
  send(receiver, eventBody(), {}, key);

describe("during a rotation", () => {
  test("both keys are accepted, and the report contains the one that matched", async () => {
    const { receiver, reports } = observed({ secret: [current, previous] });
    await sendSignedWith(receiver, "whsec_current");
    await sendSignedWith(receiver, "whsec_previous");
    expect(reports).toMatchObject([
      { code: "processed", secretId: "current", warnings: [] },
      { code: "duplicate", secretId: "previous", warnings: ["old_secret"] },
    ]);
  });

  test("any other key is a mismatch, without a secretId", async () => {
    const { receiver } = observed({ secret: [current, previous] });
    const outcome = await sendSignedWith(receiver, "whsec_other");
    expect(outcome).toMatchObject({ code: "signature_mismatch", status: 401, warnings: [] });
    expect(outcome).not.toHaveProperty("secretId");
  });

  test.each(["whsec_first", "whsec_second", "whsec_third", "whsec_other"])(
    "every key is tried, in the same order, for a body signed with %s",
    async (key) => {
      const keys = ["whsec_first", "whsec_second", "whsec_third"];
      const { receiver } = observed({ secret: keys.map((each) => ({ id: each, key: each })) });
      tried.length = 0;
      await sendSignedWith(receiver, key);
      expect(tried).toEqual(keys);
    },
  );

  test("a key of bytes is used unchanged, also if the caller wipes or changes it", async () => {
    const key = Uint8Array.of(0, 255, 128, 10, 32);
    const original = Uint8Array.from(key);
    const { receiver } = observed({ secret: [current, { id: "bytes", key }] });
    const alone = observed({ secret: key });
    key.fill(9);
    const processed = { code: "processed", secretId: "bytes" };
    expect(await sendSignedWith(receiver, original)).toMatchObject(processed);
    expect((await sendSignedWith(alone.receiver, original)).code).toBe("processed");
  });

  test("a listed key without an id has its position as id", async () => {
    const { receiver } = observed({ secret: ["whsec_current", Buffer.from("whsec_previous")] });
    expect(await sendSignedWith(receiver, "whsec_current")).toMatchObject({ secretId: "1" });
    expect(await sendSignedWith(receiver, "whsec_previous")).toMatchObject({
      secretId: "2",
      warnings: ["old_secret"],
    });
    const signature = await sign("{}", "whsec_previous");
    expect(await verify("{}", signature, ["whsec_current", "whsec_previous"])).toEqual({
      ok: true,
      secretId: "2",
    });
  });
});

describe("a list of secrets that is changed in place", () => {
  test("accepts an added key and no longer accepts a removed one", async () => {
    const list = [{ ...current }];
    const { receiver } = observed({ secret: list });
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("processed");
    list[0] = { id: "next", key: "whsec_next" };
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("signature_mismatch");
    expect(await sendSignedWith(receiver, "whsec_next")).toMatchObject({ secretId: "next" });
    list.push({ ...current });
    expect((await sendSignedWith(receiver, "whsec_current")).secretId).toBe(current.id);
  });

  test("applies a changed expiry, also if a function returns the list", async () => {
    const list = [{ ...current }, { id: "old", key: "whsec_old", expiresAt: Infinity }];
    for (const secret of [list, () => list]) {
      const { receiver, clock } = timed({ secret, name: typeof secret });
      list[1] = { id: "old", key: "whsec_old", expiresAt: Infinity };
      expect((await sendSignedWith(receiver, "whsec_old")).code).toBe("processed");
      list[1].expiresAt = clock.now();
      expect((await sendSignedWith(receiver, "whsec_old")).code).toBe("signature_mismatch");
    }
  });

  test("to an invalid list makes deliveries misconfigured", async () => {
    const list = [{ ...current }];
    const { receiver } = observed({ secret: list });
    list.length = 0;
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("misconfigured");
  });

  test("keeps the bytes of its other keys, which their owner may have wiped", async () => {
    const key = Uint8Array.of(1, 2, 3);
    const list = [{ id: "bytes", key }, { ...current }];
    const { receiver } = observed({ secret: list });
    key.fill(0);
    list.pop();
    const genuine = await signed(eventBody(), {}, Uint8Array.of(1, 2, 3));
    expect((await receiver.receive(genuine)).code).toBe("processed");
    const headers = { "x-svc-signature": `sha256=${"0".repeat(64)}` };
    expect((await receiver.receive({ ...genuine, headers })).code).toBe("signature_mismatch");
  });

  test("bytes that a function returns are compared by value", async () => {
    const key = Uint8Array.of(1, 2, 3);
    const { receiver } = observed({ secret: () => key });
    const delivery = await signed(eventBody(), {}, Uint8Array.of(9, 9, 9));
    expect((await receiver.receive(delivery)).code).toBe("signature_mismatch");
    key.fill(9);
    expect((await receiver.receive(delivery)).code).toBe("processed");
  });
});

describe("a key that expires", () => {
  const expiringIn = (ms: number, form: (epochMs: number) => Date | number) => {
    const expiresAt = form(fakeClock().now() + ms);
    return timed({ secret: [current, { ...previous, expiresAt }] });
  };

  test.each<[string, (epochMs: number) => Date | number]>([
    ["a Date", (epochMs) => new Date(epochMs)],
    ["epoch milliseconds", Number],
  ])("is accepted until its expiry, given as %s", async (_, form) => {
    const { receiver, clock } = expiringIn(1_000, form);
    clock.jump(999);
    const accepted = { code: "processed", warnings: ["old_secret"] };
    expect(await sendSignedWith(receiver, "whsec_previous")).toMatchObject(accepted);
    clock.jump(1);
    expect((await sendSignedWith(receiver, "whsec_previous")).code).toBe("signature_mismatch");
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("duplicate");
  });

  test("is no longer tried", async () => {
    const { receiver, clock } = expiringIn(1_000, Number);
    clock.jump(1_000);
    tried.length = 0;
    await sendSignedWith(receiver, "whsec_previous");
    expect(tried).toEqual(["whsec_current"]);
  });

  test("makes the next key the current one, without a warning", async () => {
    const clock = fakeClock();
    const { receiver } = observed({
      clock,
      secret: [{ ...current, expiresAt: clock.now() + 1_000 }, previous],
    });
    clock.jump(1_000);
    expect(await sendSignedWith(receiver, "whsec_previous")).toMatchObject({
      code: "processed",
      warnings: [],
    });
  });

  test("as the last one leaves the receiver misconfigured, with a printed line", async () => {
    const clock = fakeClock();
    const { receiver, lines } = observed({
      clock,
      secret: [{ ...current, expiresAt: clock.now() + 1_000 }],
    });
    clock.jump(1_000);
    expect(await sendSignedWith(receiver, "whsec_current")).toMatchObject({
      code: "misconfigured",
      status: 500,
    });
    expect(lines).toEqual([expect.stringContaining("contains only expired keys")]);
  });
});

describe("a function for secrets", () => {
  test("is not called when the receiver is built or for a request without a well-formed signature", async () => {
    const resolve = vi.fn<() => string>(() => "whsec_current");
    const { receiver } = observed({ secret: resolve });
    const unsigned = { method: "POST", headers: {}, body: new Uint8Array() };
    expect((await receiver.receive(unsigned)).code).toBe("signature_missing");
    const malformed = { ...unsigned, headers: { "x-svc-signature": "sha256=0" } };
    expect((await receiver.receive(malformed)).code).toBe("signature_malformed");
    expect(resolve).not.toHaveBeenCalled();
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("processed");
    expect(resolve.mock.calls).toEqual([[]]);
  });

  test.each<[string, SecretSource]>([
    ["text", () => "whsec_current"],
    ["bytes", () => new TextEncoder().encode("whsec_current")],
    ["a list", () => [current, previous]],
    ["a promise of text", async () => "whsec_current"],
    ["a promise of a list", async () => [previous, current]],
  ])("may return %s", async (_, secret) => {
    const { receiver } = observed({ secret });
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("processed");
  });

  test("is called for every delivery, and a new result takes effect immediately", async () => {
    let secrets: Secrets = "whsec_previous";
    const { receiver } = observed({ secret: () => secrets });
    expect(await sendSignedWith(receiver, "whsec_previous")).toMatchObject({
      code: "processed",
      secretId: "default",
    });
    secrets = [current, previous];
    expect(await sendSignedWith(receiver, "whsec_previous")).toMatchObject({
      secretId: "previous",
      warnings: ["old_secret"],
    });
    secrets = "whsec_current";
    expect((await sendSignedWith(receiver, "whsec_previous")).code).toBe("signature_mismatch");
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("duplicate");
  });

  test("that failed once is called again", async () => {
    let calls = 0;
    const { receiver } = observed({
      secret() {
        if (++calls === 1) throw new Error("vault sealed");
        return "whsec_current";
      },
    });
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("misconfigured");
    expect((await sendSignedWith(receiver, "whsec_current")).code).toBe("processed");
  });

  const sealed = new Error("vault sealed");
  const named = "misconfigured: The secret function failed: vault sealed";

  test.each<[string, () => unknown, string]>([
    ["throws", () => raise(sealed), named],
    ["rejects", () => Promise.reject(sealed), named],
    ["throws an error of these packages", () => raise(new WebhookError("a", "b.")), ": b."],
    ["returns nothing", () => undefined, "misconfigured: `secret()` is undefined. The env"],
    ["returns an empty string", () => "", "is not set in this process. Set it. https:"],
    ["returns padded text", async () => " whsec_current\n", "`secret()` has a line break or"],
    ["returns an empty list", () => [], "`secret()` is an empty array."],
    ["returns the same key twice", () => ["a", "a"], "`secret()` contains the same key twice."],
    [
      "returns only expired keys",
      () => [{ ...current, expiresAt: 1e12 }],
      "contains only expired keys",
    ],
    ["returns null in a list", () => [null], "`secret()[0]` is null."],
    ["returns a number", () => 7, "`secret()` is a number."],
  ])("that %s makes the delivery misconfigured, with one line", async (_, source, text) => {
    const { receiver, lines } = observed({ secret: source as () => Secrets });
    const misconfigured = { code: "misconfigured", status: 500 };
    expect(await sendSignedWith(receiver, "whsec_current")).toMatchObject(misconfigured);
    expect(lines).toEqual([expect.stringContaining(text)]);
    expect(lines.join()).not.toContain("whsec_current");
  });

  test.each([
    ["takes 1,499 ms is awaited", 1_499, { code: "processed", verifyMs: 1_499 }],
    ["hangs is given up after 1.5 s", Infinity, { code: "misconfigured", verifyMs: 1_500 }],
  ])("that %s", async (_, ms, report) => {
    const { receiver, reports, clock, lines } = timed({
      secret: () => (ms === Infinity ? never() : pause(clock, ms).then(() => "whsec_current")),
    });
    void sendSignedWith(receiver, "whsec_current");
    await clock.advance(report.verifyMs - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([report]);
    const late = "The secret function failed: secret took longer than 1500 ms";
    expect(lines).toEqual(ms === Infinity ? [expect.stringContaining(late)] : []);
    expect(clock.timers).toBe(0);
  });
});

test("random keys are accepted, whatever their encoding and their prefix", () => {
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 64 }).map((one) => Buffer.from(one));
  const key = fc.oneof(
    ...(["base64", "base64url", "hex"] as const).map((form) =>
      bytes.map((one) => one.toString(form)),
    ),
    bytes.map((one) => one.toString("base64").replace(/=+$/, "")),
    bytes.map((one) => one.toString("hex").toUpperCase()),
    fc.uuid(),
  );
  fc.assert(
    fc.property(fc.constantFrom("", "whsec_"), key, (prefix, secret) => {
      expect(() => observed({ secret: prefix + secret })).not.toThrow();
    }),
    { numRuns: 2_000 },
  );
});

test("no key appears in a receiver, its outcomes, reports or lines", async () => {
  const key = "whsec_not_for_your_eyes";
  const { receiver, reports, lines } = observed({ secret: [{ id: "main", key }] });
  const outcomes = [await sendSignedWith(receiver, key), await sendSignedWith(receiver, "wrong")];
  const failing = observed({ secret: () => [{ id: "main", key: `${key} ` }] });
  outcomes.push(await sendSignedWith(failing.receiver, key));
  const everything = { receiver, outcomes, reports, lines, failing };
  for (const text of [
    inspect(everything, { depth: 9, showHidden: true }),
    JSON.stringify(everything),
  ]) {
    expect(text).not.toContain("not_for_your_eyes");
  }
});

test("a secret that JSON.parse refuses is not quoted", async () => {
  const { receiver, lines } = observed({
    secret: () => JSON.parse("whsec_confidential") as string,
  });
  expect(await send(receiver)).toMatchObject({ code: "misconfigured" });
  expect(lines).toEqual([expect.stringContaining("The secret function failed: SyntaxError")]);
});
