import { memoryStore } from "@svc-webhooks/core";
import { fakeClock, storeContract } from "@svc-webhooks/testing";
import { describe, it } from "vitest";

storeContract(
  { describe, it },
  "the memory store",
  () => {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
  },
  { modelRuns: 1_000 },
);

// As a store on a server has it: asynchronous, on a clock that goes on by itself and cannot be set.
storeContract({ describe, it }, "the memory store from afar", () => {
  let ahead = 0;
  const store = memoryStore({
    clock: {
      now: Date.now,
      monotonic: () => performance.now() + ahead,
      after: () => () => {},
    },
  });
  const later = <Answer>(answer: Answer | Promise<Answer>) =>
    new Promise<Answer>((resolve) => setImmediate(() => resolve(answer)));
  return {
    store: {
      shared: true,
      claim: (...given) => later(store.claim(...given)),
      complete: (...given) => later(store.complete(...given)),
      release: (...given) => later(store.release(...given)),
      extend: (...given) => later(store.extend(...given)),
      forget: (...given) => later(store.forget(...given)),
    },
    advance: async (ms) => later(void (ahead += ms)),
  };
});
