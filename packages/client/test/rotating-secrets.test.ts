import type { ServerResponse } from "node:http";
import { createReceiver } from "@svc-webhooks/core";
import { gate } from "@svc-webhooks/kit/gate";
import { until } from "@svc-webhooks/kit/until";
import { signedDelivery } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ClientConfigError } from "../src/index.js";
import {
  rotatingSecrets,
  type RotatingSecrets,
  type RotatingSecretsOptions,
  type SigningSecret,
} from "../src/rotation.js";
import { maskedSecret } from "../src/secret.js";
import { about, against, collected, errorOf, open } from "./support.js";

const first = { id: "first", key: "whsec_first" };

/** Opens a sandbox with an endpoint and its secrets. */
async function rotating(options: Partial<RotatingSecretsOptions> = {}) {
  const { client, endpoint } = await open();
  const id = await endpoint(() => 200);
  const saved: (readonly SigningSecret[])[] = [];
  const secrets = rotatingSecrets({
    secrets: [first],
    save: (all) => void saved.push(all),
    ...options,
  });
  return { client, saved, secrets, rotate: () => secrets.rotate(client, id) };
}

describe("rotations at the same time", () => {
  test("are made and saved one after the other", async () => {
    const slow = gate();
    const saves: string[] = [];
    const { client, rotate } = await rotating({
      async save(all) {
        saves.push(`begins with ${all.length}`);
        if (all.length === 2) await slow.opened;
        saves.push(`ends with ${all.length}`);
      },
    });
    const both = [rotate(), rotate()];
    await until(() => saves.length > 0, "the first one is saved");
    // The second rotation would have been made by then.
    for (let count = 0; count < 3; count += 1) await collected(client.webhookEventTypes.list());
    slow.open();
    await Promise.all(both);
    expect(saves).toEqual(["begins with 2", "ends with 2", "begins with 3", "ends with 3"]);
  });

  test("do not depend on each other's success", async () => {
    let saves = 0;
    const { secrets, rotate } = await rotating({
      save() {
        saves += 1;
        if (saves === 1) throw new RangeError("The disk is full.");
      },
    });
    const [failed, next] = await Promise.allSettled([rotate(), rotate()]);
    expect(failed).toMatchObject({ status: "rejected", reason: { message: "The disk is full." } });
    expect(next).toMatchObject({ status: "fulfilled" });
    // The unsaved secret is in use too: the service returns it only once.
    expect([saves, secrets.current().length]).toEqual([2, 3]);
  });
});

/** Returns the result of a rotation to which the service responds like this. */
async function rotatedBy(respond: (response: ServerResponse) => void, options: object = {}) {
  const { client, notes, pauses } = await against((_request, response) => respond(response));
  const secrets = rotatingSecrets({ secrets: [first], save: () => {} });
  const error = await errorOf(secrets.rotate(client, "we_1", options));
  expect(secrets.current()).toEqual([first]);
  return { error, attempts: notes.length, pauses };
}

const unavailable = (response: ServerResponse) =>
  void response.writeHead(503, { "retry-after": "5" }).end();

describe("the repetitions of a rotation", () => {
  test.for<[string, object, readonly number[]]>([
    ["pause as the service asks", {}, [about(5_000), about(5_000, 500)]],
    ["end with maxRetries", { maxRetries: 0 }, []],
    ["end with the deadline", { deadlineMs: 4_000 }, []],
    ["have one deadline together", { deadlineMs: 9_000 }, [about(5_000)]],
  ])("%s", async ([, options, pauses]) => {
    const made = await rotatedBy(unavailable, options);
    expect(made.error).toMatchObject({ name: "ServerError", retryAfterMs: 5_000 });
    expect(made.pauses).toEqual(pauses);
    expect(made.attempts).toBe(pauses.length + 1);
  });

  test.for<[string, (response: ServerResponse) => unknown, string]>([
    [
      "a redirect",
      (response) => response.writeHead(307, { location: "http://a.test" }).end(),
      "redirected",
    ],
    ["another program's page", (response) => response.end("<h1>Hello</h1>"), "invalid_response"],
    ["a refusal", (response) => response.writeHead(403).end(), "http_403"],
  ])("are not made after %s", async ([, respond, code]) => {
    const { error, attempts } = await rotatedBy(respond);
    expect([error.code, attempts]).toEqual([code, 1]);
  });

  test("are not made with an unknown option", async () => {
    const { error, attempts } = await rotatedBy(unavailable, { retries: 3 });
    expect([error.code, error.param, attempts]).toEqual(["invalid_option", "retries", 0]);
  });
});

describe("an old secret", () => {
  const now = 1_800_000_000_000;

  test.each<[string, Partial<RotatingSecretsOptions>, number]>([
    ["7 days by default", {}, 7 * 86_400_000],
    ["overlapMs", { overlapMs: 5_000 }, 5_000],
    ["no time, if the old one has leaked", { overlapMs: 0 }, 0],
  ])("verifies for %s", async (_title, options, overlapMs) => {
    const { secrets, saved, rotate } = await rotating(options);
    vi.useFakeTimers({ toFake: ["Date"], now });
    onTestFinished(() => void vi.useRealTimers());
    await rotate();
    const latest = { id: expect.any(String), key: expect.stringMatching(/^whsec_/) };
    expect(saved).toEqual([[latest, { ...first, expiresAt: now + overlapMs }]]);
    expect(secrets.current()).toHaveLength(overlapMs > 0 ? 2 : 1);
    vi.setSystemTime(now + overlapMs);
    expect(secrets.current()).toEqual([latest]);
  });

  test.each([
    ["undefined", undefined],
    ["null, as databases have it", null as unknown as undefined],
  ])("may have %s as its expiry until it is replaced", async (_title, expiresAt) => {
    const { secrets, rotate } = await rotating({ secrets: [{ ...first, expiresAt }] });
    const receiver = createReceiver({
      secret: secrets.current,
      on: { "*": () => {} },
      log: () => {},
    });
    const delivery = await signedDelivery({ type: "email.sent" }, { secret: first.key });
    expect((await receiver.receive(delivery)).code).toBe("processed");
    await rotate();
    const expiries = secrets.current().map((one) => typeof one.expiresAt);
    expect(expiries).toEqual(["undefined", "number"]);
  });

  test("keeps its expiry over the next rotations, and ten secrets are kept", async () => {
    const { secrets, rotate } = await rotating();
    await rotate();
    const [, old] = secrets.current();
    await rotate();
    expect(secrets.current()[2]).toEqual(old);
    for (let rotation = 0; rotation < 7; rotation += 1) await rotate();
    expect(secrets.current()[9]).toEqual(old);
    await rotate();
    expect(secrets.current()).toHaveLength(10);
    expect(secrets.current()).not.toContainEqual(old);
  });
});

describe("rotatingSecrets refuses", () => {
  const noSecret =
    "`secrets` must contain the current secret as `{ id, key }`, with `key` from `reveal()`.";
  const noOverlap = "`overlapMs` must be a number that is 0 or greater.";

  test.for<[string, object, string]>([
    ["secrets", { secrets: [] }, noSecret],
    ["secrets", { secrets: "whsec_first" }, noSecret],
    ["secrets", { secrets: [null] }, noSecret],
    ["secrets", { secrets: [{ key: "whsec_first" }] }, noSecret],
    ["secrets", { secrets: [{ id: "first", key: "" }] }, noSecret],
    ["secrets", { secrets: [{ id: "first", key: maskedSecret("whsec_first") }] }, noSecret],
    ["save", { save: undefined }, "`save` must be a function."],
    ["overlapMs", { overlapMs: -1 }, noOverlap],
    ["overlapMs", { overlapMs: Number.NaN }, noOverlap],
    ["overlapMs", { overlapMs: "5000" }, noOverlap],
  ])("an invalid `%s`: %j", ([param, change, message]) => {
    const create = (): RotatingSecrets =>
      rotatingSecrets({ secrets: [first], save: () => {}, ...change });
    expect(create).toThrow(ClientConfigError);
    const facts = { code: "invalid_option", param, message };
    expect(create).toThrow(expect.objectContaining(facts) as Error);
  });
});
