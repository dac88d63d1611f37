import { sized } from "@svc-webhooks/kit/sized";
import { fakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createReceiver, type OutcomeCode } from "../src/index.js";
import { modelOf } from "./driver-model.js";
import { behavior, userOf, type Behavior, type User } from "./driver-user.js";

// The pauses of retries are random.
beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

interface Receiving {
  readonly outcome: Promise<{ readonly code: OutcomeCode }>;
  /** Resolves to the number of pending deliveries. */
  readonly drain: () => Promise<number>;
}

function receive({ options, delivery, callOptions }: User): Receiving {
  const receiver = createReceiver(options);
  return {
    outcome: receiver.receive(delivery, callOptions),
    drain: () => receiver.drain({ deadlineMs: 500_000 }),
  };
}

/** Returns everything that a user observes of one delivery. */
async function observe(behaves: Behavior, receiving: (user: User) => Receiving) {
  const clock = fakeClock();
  const user = userOf(behaves, clock);
  const { elapsed, recorded } = user;
  const ends: unknown[] = [];
  const awaitEnds = async ({ outcome, drain }: Receiving) => {
    ends.push((await outcome).code, elapsed());
    if ((await drain()) === 0) ends.push(elapsed());
  };
  void awaitEnds(receiving(user));
  do await clock.advance(1_000_000);
  while (clock.timers > 0);
  return { ends, ...recorded };
}

test("the receiver does with each delivery what the model does", async () => {
  await fc.assert(
    fc.asyncProperty(behavior, async (behaves) => {
      const [actual, expected] = await Promise.all([
        observe(behaves, receive),
        observe(behaves, modelOf),
      ]);
      expect(actual).toEqual(expected);
    }),
    { numRuns: sized(4_000, 200_000) },
  );
});
