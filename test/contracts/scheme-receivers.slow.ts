import { createReceiver, type Scheme } from "@svc-webhooks/core";
import { sampling } from "@svc-webhooks/kit/sampling";
import { schemesUnderTest, schemeUnderTest, type SchemeUnderTest } from "@svc-webhooks/kit/schemes";
import { webhooks } from "@svc-webhooks/node";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import type { TestRunner } from "@svc-webhooks/testing/adapter";
import { receiverContract, type MountReceiver } from "@svc-webhooks/testing/receiver";
import { describe, expect, it, test } from "vitest";
import { casesOf, failuresOf } from "./contract-cases.js";
import { served } from "./mounted-receivers.js";

/** Above the default, because several test files share the machine. */
const timeoutMs = 30_000;

const mounting = (
  { scheme, secret }: Pick<SchemeUnderTest, "scheme" | "secret">,
  dedupeBy: "body" | "delivery" = "body",
): MountReceiver =>
  served((handler) =>
    webhooks(
      createReceiver({
        scheme,
        secret,
        dedupeBy,
        on: { "*": handler },
        log: () => {},
        onHandlerError: () => {},
      }),
    ),
  );

const under = await schemesUnderTest();

const contractOf =
  ({ name, signingSecret }: SchemeUnderTest, mount: MountReceiver | string) =>
  (runner: TestRunner) =>
    receiverContract(runner, `a receiver of ${name}`, mount, {
      scheme: name,
      secret: signingSecret,
      timeoutMs,
    });

// The next sender has the next cases of the contract, so each case runs for at least two senders.
for (const [offset, one] of under.entries()) {
  contractOf(one, mounting(one))(sampling({ describe, it }, 4, { offset }));
}

/** Cases that do not apply to some senders. */
const unsignedIds = [
  "does not handle a captured body again under another delivery id or without one",
  "handles an event even if a captured body was sent under its delivery id",
];
const signatureOfService = [
  "refuses an HMAC with a hash other than SHA-256",
  "refuses a hash of the body without a key",
];
const prefix = [
  "refuses a signature without its prefix",
  "refuses the right digits after a wrong prefix",
];
const textKey = [
  "refuses a signature whose key is empty, undefined or null",
  "refuses a signature whose key is the secret of an example",
  "refuses a signature whose key is a placeholder",
];

test.each<readonly [SenderName, readonly string[]]>([
  ["stripe", unsignedIds],
  ["github", []],
  ["linear", prefix],
  ["standard-webhooks", [...textKey, ...unsignedIds]],
  [
    "discord",
    [
      ...prefix,
      ...textKey,
      "refuses a signature whose key is the sample of a library",
      ...unsignedIds,
    ],
  ],
])("%s skips cases by name, with the reason", async (name, titles) => {
  const cases = casesOf(contractOf(await schemeUnderTest(name), () => ""));
  const expected = [...titles, ...signatureOfService].map(
    (title) => `${title} (skipped: it does not apply to ${name})`,
  );
  const skipped = cases.map(({ title }) => title).filter((title) => title.includes("(skipped: "));
  expect(skipped.toSorted()).toEqual(expected.toSorted());
});

const withoutTolerance = (scheme: Scheme): Scheme => ({
  ...scheme,
  inspect: (header) =>
    scheme.inspect(header, Number(/\d{10}/.exec(header("stripe-signature"))) * 1_000),
});

test("a receiver that does not check the time fails only the case about it", async () => {
  const one = await schemeUnderTest("stripe");
  const mount = mounting({ ...one, scheme: withoutTolerance(one.scheme) });
  const cases = casesOf(contractOf(one, mount));
  expect(await failuresOf(cases)).toEqual([
    "refuses a delivery that was signed a day before or after it arrived",
  ]);
});

test("a receiver that recognizes copies by GitHub's id fails only the cases about captured bodies", async () => {
  const one = await schemeUnderTest("github");
  const cases = casesOf(contractOf(one, mounting(one, "delivery")));
  expect(await failuresOf(cases)).toEqual(unsignedIds);
});

test("a receiver of another scheme fails every case, and the first one names the causes", async () => {
  const mount = mounting(await schemeUnderTest("stripe"));
  const all = casesOf(contractOf(await schemeUnderTest("slack"), mount));
  const cases = all.filter(({ title }) => !title.includes("(skipped: "));
  await expect(cases[0]?.run()).rejects.toThrow(
    "A genuine delivery got a 401 response instead of a 2xx. The receiver's secret or scheme may not match the delivery's, or the receiver's clock may differ from this machine's. Compare them.",
  );
  expect(await failuresOf(cases)).toHaveLength(cases.length);
});

test("a key of another kind fails the first case, which names the option", async () => {
  const discord = await schemeUnderTest("discord");
  const { signingSecret } = await schemeUnderTest("stripe");
  const [first] = casesOf(contractOf({ ...discord, signingSecret }, mounting(discord)));
  await expect(first?.run()).rejects.toMatchObject({ code: "invalid_secret", option: "secret" });
});

test.each([
  [{ scheme: "strip" as never }, "scheme"],
  [{ scheme: "toString" as never }, "scheme"],
])("refuses the options %j", (options, option) => {
  expect(() => receiverContract({ describe, it }, "x", () => "", options)).toThrow(
    expect.objectContaining({ name: "ConfigError", option }) as Error,
  );
});
