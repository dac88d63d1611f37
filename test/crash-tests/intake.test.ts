import { createIntake, createReceiver } from "@svc-webhooks/core";
import { fixture } from "@svc-webhooks/testing";
import {
  crashReport,
  crashTest,
  type CrashTestOptions,
  type IntakeCrashTestOptions,
  type World,
} from "@svc-webhooks/testing/crash-test";
import { describe, expect, test } from "vitest";

const sources = ["mail-sdk"] as const;

interface Keyed {
  /** Whether the calls have an idempotency key. */
  readonly keyed: boolean;
}

/** Returns the options of a crash test of an intake whose handler charges a card. */
const charging = ({ keyed }: Keyed): IntakeCrashTestOptions => ({
  events: [fixture("email.delivered")],
  intake({ clock, logger, store, effect }) {
    const charge = effect("charge", (_key: string) => {}, keyed ? { key: (key) => key } : {});
    return createIntake({
      clock,
      logger,
      store,
      sources,
      on: { "email.delivered": (_event, { idempotencyKey }) => charge(idempotencyKey) },
    });
  },
});

/** Returns a receiver of lists of two events, each of which sends a mail and charges a card. */
function receiverOfLists({ keyed }: Keyed, world: World) {
  const { secret, clock, logger, store, effect } = world;
  const honored = keyed ? { key: (key: string) => key } : {};
  const [mail, charge] = ["mail", "charge"].map((name) =>
    effect(name, (_key: string) => {}, honored),
  );
  const items = createIntake({
    name: "items",
    clock,
    logger,
    store,
    sources,
    on: {
      async "*"(_event, { idempotencyKey }) {
        await mail?.(`${idempotencyKey}-mail`);
        await charge?.(`${idempotencyKey}-charge`);
      },
    },
  });
  return createReceiver({
    name: "lists",
    secret,
    clock,
    logger,
    store,
    on: {
      list: items.each(() =>
        ["evt_a", "evt_b"].map((id) => ({ source: "mail-sdk", id, type: "item", body: {} })),
      ),
    },
  });
}

describe("the crash test of an intake", () => {
  test("finds a duplicate effect without an idempotency key", async () => {
    const { findings, text } = await crashReport(charging({ keyed: false }));
    expect(findings).toMatchObject([
      {
        kind: "duplicate",
        effect: "charge",
        advice: expect.stringMatching(/^Pass `context.idempotencyKey` to `charge`/),
      },
    ]);
    expect(text).toMatch(/sender +attempt \d+: 200 processed/);
  });

  test("finds nothing with one", async () => {
    const { findings, tried } = await crashTest({ ...charging({ keyed: true }), maxFaults: 1 });
    expect(findings).toEqual([]);
    expect(tried.length).toBeGreaterThan(0);
  });
});

describe("the crash test of a list", () => {
  const options = (keyed: Keyed): CrashTestOptions => ({
    events: [{ type: "list" }],
    maxFaults: 1,
    receiver: (world) => receiverOfLists(keyed, world),
  });

  test("has a finding for each effect of its events without idempotency keys", async () => {
    const { findings } = await crashReport(options({ keyed: false }));
    expect(findings.map(({ kind, effect }) => `${kind} ${effect}`).toSorted()).toEqual([
      "duplicate charge",
      "duplicate mail",
    ]);
  });

  test("has no finding with a key for each effect", async () => {
    expect((await crashTest(options({ keyed: true }))).findings).toEqual([]);
  });
});

describe("a crash test refuses", () => {
  const { intake, events } = charging({ keyed: true });
  const receiver = (world: World) => receiverOfLists({ keyed: true }, world);

  test.each<[string, object, RegExp]>([
    ["a receiver with an intake", { receiver, intake }, /`receiver` or `intake`, not both/],
    ["an intake that is not a function", { intake: {} }, /`intake` must be a function/],
    ["a receiver in place of an intake", { intake: receiver }, /`intake` must return/],
    ["an intake in place of a receiver", { receiver: intake }, /`receiver` must return/],
  ])("%s", async (_what, options, message) => {
    const running = crashReport({ events, ...options } as unknown as CrashTestOptions);
    await expect(running).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(message),
    });
  });
});
