import { signed } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { sized } from "@svc-webhooks/kit/sized";
import { fakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordKey } from "../src/claim/record-key.js";
import { createReceiver, type CommonOptions, type Outcome } from "../src/index.js";
import { driverCase, type DriverCase } from "./driver-case.js";
import { Model } from "./driver-model.js";
import { callOptions, receiverOptions, userOf, type User } from "./driver-user.js";

// The pauses of retries are random.
beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

const delivery = await signed();

const keyOf = async ({ scheme, dedupeBy }: DriverCase) => {
  const deliveryId = scheme ? "dlv_scheme" : "dlv_1";
  const identity = { deliveryId, type: "email.sent", eventId: undefined, bytes: delivery.body };
  return (await recordKey({ name: "test", dedupeBy }, identity)).key;
};

/** Lets all deadlines pass. */
async function finish(clock: ReturnType<typeof fakeClock>): Promise<void> {
  await settled();
  while (clock.timers > 0) await clock.advance(60_000);
}

const recordOf = ({ trace, works, thenCalls }: User) => ({ trace, works, thenCalls });

async function byReceiver(given: DriverCase) {
  const clock = fakeClock();
  const user = userOf(given, clock, delivery);
  const receiver = createReceiver(
    receiverOptions(user, given, clock) as CommonOptions & { on: {} },
  );
  const options = callOptions(user, given, await keyOf(given));
  let outcome: Outcome | undefined;
  const receiving = given.resume
    ? receiver.resume(delivery, options)
    : receiver.receive({ ...delivery, body: given.body ? user.body : delivery.body }, options);
  void receiving.then((known) => (outcome = known));
  await finish(clock);
  const draining = receiver.drain({ deadlineMs: 0 });
  await clock.advance(0);
  return { outcome, pending: await draining, ...recordOf(user) };
}

async function byModel(given: DriverCase) {
  const clock = fakeClock();
  const user = userOf(given, clock, delivery);
  const model = new Model(given, user, clock, delivery);
  void model.receive();
  await finish(clock);
  const { outcome, pending } = model;
  return { outcome, pending: Math.min(pending.size, 1), ...recordOf(user) };
}

test("the receiver does with each delivery what the model does", async () => {
  await fc.assert(
    fc.asyncProperty(driverCase, async (given) => {
      const [actual, expected] = await Promise.all([byReceiver(given), byModel(given)]);
      expect(actual).toEqual(expected);
    }),
    {
      numRuns: sized(4_000, 200_000),
      timeout: 10_000,
      endOnFailure: true,
    },
  );
}, 900_000);
