import { sized } from "@svc-webhooks/kit/sized";
import { memoryStore } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract } from "@svc-webhooks/testing/store";
import { describe, it } from "vitest";
import { seeded } from "@svc-webhooks/kit/random";
import { storeThrough } from "@svc-webhooks/kit/store-through";

storeContract(
  { describe, it },
  "the memory store",
  () => {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
  },
  { modelRuns: sized(100, 1_000) },
);

// Simulates a store on a server: asynchronous, with a clock that advances by itself and cannot be set.
storeContract({ describe, it }, "the memory store behind an asynchronous connection", () => {
  let ahead = 0;
  const monotonic = () => performance.now() + ahead;
  const store = memoryStore({ clock: { now: Date.now, monotonic, after: () => () => {} } });
  return {
    store: storeThrough(store, async (call) => {
      const result = call();
      await new Promise(setImmediate);
      return result;
    }),
    advance: async (ms) => void (ahead += ms),
  };
});

// Simulates several connections: calls reach the store, and results reach their callers, in any order.
storeContract({ describe, it }, "the memory store over an unordered network", () => {
  const clock = fakeClock();
  const { between } = seeded("2/network");
  const traveling: (() => void)[] = [];
  const travel = () =>
    new Promise<void>((arrive) => {
      traveling.push(arrive);
      // For each message that is sent, one arrives, but not necessarily the same one.
      setImmediate(() => traveling.splice(between(0, traveling.length - 1), 1)[0]?.());
    });
  return {
    store: storeThrough(memoryStore({ clock }), async (call) => {
      await travel();
      const result = await call();
      await travel();
      return result;
    }),
    advance: clock.jump,
    exactClock: true,
  };
});
