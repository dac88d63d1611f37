import { createHmac } from "node:crypto";
import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { createReceiver, type Clock, type ReceiverOptions } from "@svc-webhooks/core";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import { standardWebhooks, stripe } from "@svc-webhooks/schemes";
import { senders } from "@svc-webhooks/schemes/senders";
import { describe, expect, test } from "vitest";
import { json, secret } from "./support.js";

const oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

async function examine(listener: RequestListener, scheme = "stripe", key = secret) {
  const port = await listen(listener);
  const flags = ["--secret-env=KEY", "--timeout=5", "--scheme", scheme];
  const { code, value } = await json(
    ["doctor", `http://127.0.0.1:${port}/`, ...flags, "--previous-secret-env=OLD"],
    "",
    { KEY: key, OLD: oldSecret },
  );
  const findings = value["findings"] as readonly Readonly<Record<string, string>>[];
  return { code, value, findings, ids: findings.map(({ id }) => id) };
}

const receiver = (options: Partial<ReceiverOptions> = {}) =>
  webhooks(
    createReceiver({ scheme: stripe(), secret, on: { "*": () => {} }, log: () => {}, ...options }),
  );

describe("finds nothing wrong with a receiver of", () => {
  test.each(Object.values(senders))("$name", async ({ name, scheme, testKeys }) => {
    const keys = await testKeys();
    const listener = receiver({ scheme, secret: keys.secret });
    const { code, findings, value } = await examine(listener, name, keys.signingSecret);
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect((value["probes"] as readonly unknown[]).length).toBeGreaterThan(15);
    expect(value["not_judged"]).toContainEqual(
      expect.stringMatching(/^a later attempt without a signature, because /),
    );
  });
});

/** Returns a receiver that compares Stripe's signatures as `isGenuine` does. */
const handWritten =
  (isGenuine: (body: Buffer, time: string, signature: string) => boolean): RequestListener =>
  async (request, response) => {
    const body = await buffer(request).catch(() => Buffer.of());
    const value = String(request.headers["stripe-signature"]);
    const [, time = "", signature = ""] = /^t=(\d+),v1=([\da-f]{64})$/.exec(value) ?? [];
    response.writeHead(isGenuine(body, time, signature) ? 200 : 401).end();
  };

const hmac = (time: string, body: Uint8Array | string) =>
  createHmac("sha256", secret).update(`${time}.`).update(body).digest("hex");

const isRecent = (time: string) => Math.abs(Date.now() / 1_000 - Number(time)) < 300;

describe("names", () => {
  test("a receiver with the previous secret", async () => {
    const { ids, findings } = await examine(receiver({ secret: oldSecret }));
    expect(ids).toEqual(["wrong_secret"]);
    expect(findings[0]).toMatchObject({ mistake: "old_secret" });
  });

  test("the scheme as the command line does, for a receiver with an unknown secret", async () => {
    const { secret: other } = await senders["standard-webhooks"].testKeys();
    const { secret: key } = await senders["standard-webhooks"].testKeys();
    const listener = receiver({ scheme: standardWebhooks(), secret: other });
    const { findings } = await examine(listener, "standard-webhooks", key);
    expect(findings[0]).toMatchObject({
      id: "wrong_secret",
      fix: expect.stringContaining("verify --scheme standard-webhooks --capture"),
    });
  });

  test.each<[string, RequestListener]>([
    ["unsigned_accepted", handWritten(() => true)],
    ["stale_accepted", handWritten((body, time, value) => value === hmac(time, body))],
    [
      "parser_before_receiver",
      handWritten((body, time, value) => {
        try {
          return isRecent(time) && value === hmac(time, JSON.stringify(JSON.parse(String(body))));
        } catch {
          return false;
        }
      }),
    ],
    [
      "short_signature_accepted",
      handWritten(
        (body, time, value) =>
          isRecent(time) && value.slice(0, -1) === hmac(time, body).slice(0, -1),
      ),
    ],
  ])("%s, with the headers of the sender", async (id, listener) => {
    const { code, ids, findings } = await examine(listener);
    expect([code, ids]).toEqual([1, [id]]);
    expect(JSON.stringify(findings)).not.toMatch(/X-SVC/i);
  });

  test("a clock that is further off than the scheme tolerates", async () => {
    const aheadMs = 900_000;
    const clock: Clock = {
      now: () => Date.now() + aheadMs,
      monotonic: () => performance.now(),
      after(delayMs, run) {
        const timer = setTimeout(run, delayMs);
        return () => clearTimeout(timer);
      },
    };
    const skewed = receiver({ clock });
    const withDate =
      (ms: number): RequestListener =>
      (request, response) => {
        response.setHeader("Date", new Date(Date.now() + ms).toUTCString());
        void skewed(request, response);
      };
    const { ids, findings } = await examine(withDate(aheadMs));
    expect(ids).toEqual(["clock_skew", "signature_stale"]);
    expect(findings[0]?.["happened"]).toMatch(
      /about 15 min \((?:899|900|901) s\) ahead of this machine/,
    );
    expect((await examine(withDate(200_000))).ids).toEqual(["signature_stale"]);
  });
});
