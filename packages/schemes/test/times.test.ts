import { describe, expect, test } from "vitest";
import {
  isTimed,
  receiving,
  sender,
  senders,
  sendersWith,
  signatureHeader,
  withHeader,
  signedWorldOf,
  worldOf,
} from "./support.js";
import { senders as known } from "../src/senders.js";

const timed = sendersWith(isTimed);

/** The tolerance of a sender's default scheme. */
const toleranceOf = (name: string) => (name === "linear" ? 28_800_000 : 300_000);

describe.each(timed)("$name", (one) => {
  const toleranceMs = toleranceOf(one.name);

  // The fake clock starts at a whole second, which is also the signed time.
  test.each([
    [-toleranceMs - 1, "signature_stale"],
    [-toleranceMs, "processed"],
    [0, "processed"],
    [toleranceMs, "processed"],
    [toleranceMs + 1, "signature_stale"],
  ])("a delivery that arrives %i ms after its signed time is %s", async (ageMs, code) => {
    const { receive, sign, clock, lines } = await worldOf(one);
    const at = clock.now();
    const body = one.body({ at });
    const headers = await sign(body, { at });
    clock.jump(ageMs);
    expect(await receive(headers, body)).toMatchObject({ code });
    if (code === "signature_stale") {
      const seconds = toleranceMs / 1_000;
      expect(lines.join()).toContain(
        `was signed ${seconds + 1} s ${ageMs > 0 ? "before" : "after"} it arrived, but only ${seconds} s are tolerated`,
      );
    }
  });

  test("the tolerance is an option", async () => {
    const { keys, sign, clock } = await worldOf(one);
    const { receive } = receiving(one.scheme({ toleranceMs: 1_000 }), {
      secret: keys.secret,
      clock,
    });
    const at = clock.now();
    const body = one.body({ at });
    const headers = await sign(body, { at });
    clock.jump(1_001);
    expect(await receive(headers, body)).toMatchObject({ code: "signature_stale" });
    clock.jump(-1);
    expect(await receive(headers, body)).toMatchObject({ code: "processed" });
  });

  test.each([0, 999, 1_000.5, -1, Infinity, Number.NaN, 86_400_001, "300000", null])(
    "refuses %s as toleranceMs",
    (value: unknown) => {
      expect(() => one.scheme({ toleranceMs: value } as { toleranceMs: number })).toThrow(
        expect.objectContaining({ code: "invalid_option", option: "toleranceMs" }),
      );
    },
  );
});

test.each(timed.filter(({ name }) => name !== "linear"))(
  "$name: a stale request is refused before its body is read and before its signature is compared",
  async (one) => {
    const { receiver, sign, clock } = await worldOf(one);
    const at = clock.now();
    const headers = await sign(one.body({ at }), { at });
    clock.jump(300_001);
    const outcome = await receiver.receive({
      method: "POST",
      headers,
      body: () => {
        throw new Error("reads the body");
      },
    });
    expect(outcome).toMatchObject({ code: "signature_stale", status: 401 });
    expect(outcome).not.toHaveProperty("secretId");
  },
);

describe("linear", () => {
  test.each([undefined, null, "", "1767225600000", true, [], {}, 0, -1, 1e300])(
    "refuses %j as webhookTimestamp",
    async (webhookTimestamp) => {
      const { receive, sign, clock } = await worldOf(sender("linear"));
      const body = JSON.stringify({ type: "Issue", action: "create", webhookTimestamp });
      const outcome = await receive(await sign(body, { at: clock.now() }), body);
      expect(outcome).toMatchObject({ code: "signature_stale" });
    },
  );

  test.each([60_000, 3_660_000, 25_260_000])(
    "accepts the retry that arrives %i ms after the signed time",
    async (ageMs) => {
      const { receive, clock, body, headers } = await signedWorldOf(sender("linear"));
      clock.jump(ageMs);
      expect(await receive(headers, body)).toMatchObject({ code: "processed" });
    },
  );

  test("the unsigned linear-timestamp does not replace the signed time", async () => {
    const { receive, clock, body, headers } = await signedWorldOf(sender("linear"));
    clock.jump(28_800_001);
    const fresh = { ...headers, "linear-timestamp": String(clock.now()) };
    expect(await receive(fresh, body)).toMatchObject({ code: "signature_stale" });
  });
});

/** Texts that are not a time in seconds. The official libraries accept some of them. */
const notTimes = [
  "",
  "-1",
  "+1767225600",
  "1e3",
  "0x1",
  " 1767225600",
  "1767225600 ",
  "1767225600\n",
  "1767225600\u00a0",
  "1767225600.0",
  "1.5",
  "１７６７２２５６００",
  "176722560000",
  "1767225600abc",
  "NaN",
  "Infinity",
  "1767225600, 1767225600",
];

describe.each(timed.filter(({ name }) => name !== "linear"))("$name", (one) => {
  test.each(notTimes)("refuses %j as a time", async (text) => {
    const { receive, sign, clock } = await worldOf(one);
    const at = clock.now();
    const body = one.body({ at });
    const seconds = String(at / 1_000);
    const headers = await sign(body, { at });
    const name = one.timestamp ?? signatureHeader(one);
    const changed = withHeader(headers, name, (value) => value.replace(seconds, text));
    expect(changed).not.toEqual(headers);
    expect(await receive(changed, body)).toMatchObject({ code: "signature_malformed" });
  });
});

test("every sender is in the tables", () => {
  const untimed = sendersWith((one) => !isTimed(one)).map(({ name }) => name);
  expect(untimed).toEqual(["github", "shopify", "lemon-squeezy", "meta", "notion", "woocommerce"]);
  expect(Object.keys(known).toSorted()).toEqual(senders.map(({ name }) => name).toSorted());
});
