import type { HmacKey } from "@svc-webhooks/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { importHmacKey } from "../src/lib/hmac-key.js";
import { senders as known } from "../src/senders.js";
import {
  receiving,
  senders,
  sendersWith,
  signatureHeader,
  withHeader,
  type Sender,
} from "./support.js";

afterEach(() => void vi.restoreAllMocks());

/** Wraps a scheme so that it counts the calls of `verify` of its keys. */
function counted(one: Sender) {
  let calls = 0;
  const scheme = one.scheme();
  const importKey: typeof scheme.importKey = async (key, hmac) => {
    const imported = await scheme.importKey(key, hmac);
    return {
      verify(body, claim) {
        calls += 1;
        return imported.verify(body, claim);
      },
    };
  };
  return { scheme: { ...scheme, importKey }, calls: () => calls };
}

describe.each(senders)("$name", (one) => {
  test.each([0, 1, 2, undefined])(
    "compares every one of 3 keys when key %s matches",
    async (match) => {
      const keys = await Promise.all(Array.from({ length: 4 }, () => known[one.name].testKeys()));
      const { scheme, calls } = counted(one);
      const secret = keys.slice(0, 3).map((each) => each.secret);
      const { receive, clock } = receiving(scheme, { secret });
      const body = one.body({ at: clock.now() });
      const headers = await known[one.name].sign(body, {
        secret: keys[match ?? 3]?.signingSecret ?? "",
        at: clock.now(),
        type: "sent",
      });
      const outcome = await receive(headers, body);
      expect(outcome.code).toBe(match === undefined ? "signature_mismatch" : "processed");
      expect(calls()).toBe(3);
    },
  );
});

test.each(sendersWith(({ separator }) => separator))(
  "$name: 5 signatures and 10 keys cost the same, whichever signature matches",
  async (one) => {
    const keys = await Promise.all(Array.from({ length: 10 }, () => known[one.name].testKeys()));
    const verify = vi.spyOn(crypto.subtle, "verify");
    const costs = new Set<number>();
    for (const position of [0, 4]) {
      const { scheme, calls } = counted(one);
      const { receive, clock } = receiving(scheme, { secret: keys.map((each) => each.secret) });
      const body = one.body({ at: clock.now() });
      const given = await Promise.all(
        Array.from({ length: 5 }, async (_, index) => {
          const secret = index === position ? keys[9] : await known[one.name].testKeys();
          return known[one.name].sign(body, {
            secret: secret?.signingSecret ?? "",
            at: clock.now(),
            deliveryId: "a",
          });
        }),
      );
      const name = signatureHeader(one);
      const values = given.map((headers) => headers[name] ?? "");
      const list = values
        .map((value, index) => (index > 0 ? value.replace(/^ts?=\d+[,;]/, "") : value))
        .join(one.separator);
      verify.mockClear();
      const outcome = await receive(
        withHeader(given[0] ?? {}, name, () => list),
        body,
      );
      expect(outcome).toMatchObject({ code: "processed", secretId: "10" });
      expect(calls()).toBe(10);
      costs.add(verify.mock.calls.length);
    }
    expect(costs).toEqual(new Set([one.name === "standard-webhooks-ed25519" ? 50 : 0]));
  },
);

describe("a key for HMAC", () => {
  const signature = (digit: string) => digit.repeat(64);

  async function verified(signatures: readonly string[]) {
    const messages: string[] = [];
    const hmac = {
      sign(message: Uint8Array) {
        messages.push(new TextDecoder().decode(message));
        return signature("a");
      },
    } satisfies Pick<HmacKey, "sign">;
    const key = await importHmacKey(new Uint8Array(1), () => hmac);
    const claim = { before: "1.", signatures };
    return { ok: await key.verify(new TextEncoder().encode("{}"), claim), messages, claim };
  }

  test.each([
    [[signature("a")], true],
    [[signature("b")], false],
    [[signature("a"), signature("b")], true],
    [[signature("b"), signature("a")], true],
    [[signature("b"), signature("c")], false],
    [[signature("a").slice(1)], false],
    [[`${signature("a")}a`], false],
    [[""], false],
  ])("computes one HMAC for %j", async (signatures, ok) => {
    const result = await verified(signatures);
    expect(result.ok).toBe(ok);
    expect(result.messages).toEqual(["1.{}"]);
    expect("key" in result.claim).toBe(ok);
  });
});
