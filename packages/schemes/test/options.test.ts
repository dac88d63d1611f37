import { createReceiver, type Scheme } from "@svc-webhooks/core";
import { describe, expect, test } from "vitest";
import * as schemes from "../src/index.js";
import {
  hmac,
  meta,
  notion,
  standardWebhooks,
  stripe,
  woocommerce,
  type HmacOptions,
} from "../src/index.js";
import { senders as known } from "../src/senders.js";
import { receiving, senders, sendersWith } from "./support.js";

const create = (scheme: unknown) => () =>
  createReceiver({ scheme: scheme as Scheme, secret: "whsec_test", on: { "*": () => {} } });

describe("the option scheme", () => {
  test.each([
    ["a scheme that is not called", stripe],
    ["an empty object", {}],
    ["null", null],
    ["text", "stripe"],
  ])("refuses %s", (_what, scheme) => {
    expect(create(scheme)).toThrow(
      expect.objectContaining({ code: "invalid_option", option: "scheme" }),
    );
  });

  test("accepts a scheme, and undefined, which selects the service", () => {
    expect(create(stripe())).not.toThrow();
    expect(create(undefined)).not.toThrow();
  });
});

const { hmac: _hmac, ...withoutOptions } = schemes;

test.each(Object.entries(withoutOptions))(
  "%s refuses options that are not its own",
  (_name, scheme) => {
    const make = scheme as (options?: unknown) => Scheme;
    expect(make()).toMatchObject({ headers: expect.any(Array) });
    expect(() => make({ tolerance: 1 })).toThrow(
      expect.objectContaining({ code: "unknown_option", option: "tolerance" }),
    );
    for (const options of [null, 7, "text"]) {
      expect(() => make(options)).toThrow(expect.objectContaining({ code: "invalid_option" }));
    }
  },
);

test.each([
  ["headers", "Webhook"],
  ["headers", null],
  ["algorithm", "v1"],
  ["algorithm", "__proto__"],
])("standardWebhooks refuses %s: %j", (option, value) => {
  expect(() => standardWebhooks({ [option]: value })).toThrow(
    expect.objectContaining({ code: "invalid_option", option }),
  );
});

test("a receiver of WooCommerce logs once that the type is not signed", () => {
  const { lines } = receiving(woocommerce(), { secret: "a secret" });
  expect(lines).toEqual([expect.stringMatching(/woocommerce does not sign the type/)]);
});

test.each([null, 7, "yes"])("notion refuses setup: %j", (setup) => {
  expect(() => notion({ setup: setup as never })).toThrow(
    expect.objectContaining({ code: "invalid_option", option: "setup" }),
  );
});

test.each(["", null, 7])("meta refuses verifyToken: %j", (verifyToken) => {
  expect(() => meta({ verifyToken: verifyToken as never })).toThrow(
    expect.objectContaining({
      code: "invalid_option",
      option: "verifyToken",
      message: expect.stringMatching(/^`verifyToken` is empty.* Set its environment variable/),
    }),
  );
});

test.each(senders)(
  "the scheme of $name names headers in lower case, and its name is short",
  ({ scheme }) => {
    const { headers, name, form } = scheme();
    expect(headers).toEqual([...new Set(headers.map((one) => one.toLowerCase()))]);
    expect(name).toMatch(/^[a-zA-Z]+$/);
    expect(form).not.toBe("");
  },
);

test.each(sendersWith(({ name }) => !known[name].signsId))(
  "a receiver of $name logs once that the id is not signed",
  ({ scheme }) => {
    const { lines } = receiving(scheme(), { secret: "a secret" });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/sent again under another id/);
  },
);

describe("the options of hmac", () => {
  const valid: HmacOptions = { name: "acme", header: "X-Acme-Signature", encoding: "hex" };
  const timed: HmacOptions = {
    ...valid,
    timestamp: { header: "X-Acme-Time", unit: "ms" },
    before: (time) => `${time}.`,
  };

  test.each<[string, unknown]>([
    ["name", ""],
    ["name", undefined],
    ["header", ""],
    ["header", "two words"],
    ["header", undefined],
    ["prefix", 7],
    ["separator", ""],
    ["separator", 7],
    ["separator", null],
    ["separator", "a"],
    ["separator", "="],
    ["separator", "/"],
    ["separator", ", "],
    ["encoding", "base32"],
    ["encoding", undefined],
    ["encoding", "toString"],
    ["hash", "MD5"],
    ["hash", "sha-256"],
    ["hash", "__proto__"],
    ["key", "raw"],
    ["timestamp", { header: "x-time", unit: "s" }],
    ["id", 7],
    ["id", "two words"],
    ["type", null],
    ["list", ""],
    ["list", "type"],
    ["list", 7],
    ["list", null],
    ["handshake", "text"],
  ])("refuse %s: %j", (option, value) => {
    expect(() => hmac({ ...valid, [option]: value })).toThrow(
      expect.objectContaining({ code: "invalid_option", option }),
    );
  });

  test.each<[string, Partial<HmacOptions>, string]>([
    ["before without timestamp", { before: (time) => time }, "timestamp"],
    ["toleranceMs without timestamp", { toleranceMs: 1_000 }, "timestamp"],
    [
      "a timestamp with another unit",
      { ...timed, timestamp: { header: "x", unit: "min" as "s" } },
      "timestamp",
    ],
    ["a prefix that contains the separator", { prefix: "t=1,v1=", separator: "," }, "separator"],
    ["a before that leaves the time out", { ...timed, before: () => "v0:" }, "before"],
    ["a before that returns nothing", { ...timed, before: (() => {}) as never }, "before"],
    ["a before that returns a list", { ...timed, before: ((t: string) => [t]) as never }, "before"],
    ["a toleranceMs of 0", { ...timed, toleranceMs: 0 }, "toleranceMs"],
  ])("refuse %s", (_what, more, option) => {
    expect(() => hmac({ ...valid, ...more })).toThrow(
      expect.objectContaining({ code: "invalid_option", option }),
    );
  });

  test("keep the headers that a stored delivery needs, in lower case and once", () => {
    const { headers, form } = hmac({ ...timed, id: "X-Acme-Id", type: "X-Acme-Id" });
    expect(headers).toEqual(["x-acme-signature", "x-acme-time", "x-acme-id"]);
    expect(form).toBe("<64 hex digits>, with the time in x-acme-time");
  });

  test.each<[Partial<HmacOptions>, RegExp | undefined]>([
    [{}, undefined],
    [{ id: () => "1", type: () => "sent" }, undefined],
    [{ id: "x-id" }, /does not sign the delivery id/],
    [{ type: "x-type" }, /does not sign the type/],
    [{ id: "x-id", type: "x-type" }, /signs neither the delivery id nor the type/],
  ])("have a notice for what is not signed: %o", (more, text) => {
    const { notice } = hmac({ ...valid, ...more });
    if (text) expect(notice).toMatch(text);
    else expect(notice).toBeUndefined();
  });
});
