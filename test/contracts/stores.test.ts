import { memoryStore } from "@svc-webhooks/core";
import { fakeClock, storeContract } from "@svc-webhooks/testing";
import { describe, it } from "vitest";
import { seeded } from "@svc-webhooks/kit/random";

storeContract(
  { describe, it },
  "the memory store",
  () => {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
  },
  { modelRuns: 1_000 },
);

// As a store on a server: asynchronous, with a clock that advances by itself and cannot be set.
storeContract({ describe, it }, "the memory store behind an asynchronous connection", () => {
  let ahead = 0;
  const store = memoryStore({
    clock: {
      now: Date.now,
      monotonic: () => performance.now() + ahead,
      after: () => () => {},
    },
  });
  const later = <Result>(result: Result | Promise<Result>) =>
    new Promise<Result>((resolve) => setImmediate(() => resolve(result)));
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

// As over several connections: calls reach the store in any order, and results their callers.
storeContract({ describe, it }, "the memory store over an unordered network", () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const { between } = seeded("2/network");
  const travelling: (() => void)[] = [];
  const travel = () =>
    new Promise<void>((arrive) => {
      travelling.push(arrive);
      // One message arrives for each that was sent, but not in order.
      setImmediate(() => travelling.splice(between(0, travelling.length - 1), 1)[0]?.());
    });
  const unordered =
    <Given extends readonly unknown[], Result>(
      perform: (...given: Given) => Result | Promise<Result>,
    ) =>
    async (...given: Given): Promise<Result> => {
      await travel();
      const result = await perform(...given);
      await travel();
      return result;
    };
  return {
    store: {
      shared: true,
      claim: unordered((...given: Parameters<typeof store.claim>) => store.claim(...given)),
      complete: unordered((...given: Parameters<typeof store.complete>) =>
        store.complete(...given),
      ),
      release: unordered((...given: Parameters<typeof store.release>) => store.release(...given)),
      extend: unordered((...given: Parameters<typeof store.extend>) => store.extend(...given)),
      forget: unordered((...given: Parameters<typeof store.forget>) => store.forget(...given)),
    },
    advance: clock.jump,
    exactClock: true,
  };
});
