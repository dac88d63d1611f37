import { kindsOf } from "@svc-webhooks/kit/kinds";
import { sampling } from "@svc-webhooks/kit/sampling";
import { sized } from "@svc-webhooks/kit/sized";
import { storeContract } from "@svc-webhooks/testing/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeThrough } from "@svc-webhooks/kit/store-through";
import { cloud, type Cloud } from "./support.js";

const worlds = [
  { objects: "that stay in memory", evicting: false },
  { objects: "that are evicted before every call", evicting: true },
];

/** The transition table. Its rules are the core's, whose own tests check the whole table. */
const ofTable = / an? \w+ record$|'s (?:live|dead) lease$/;

// Each eviction restarts an object, several hundred in all, so `npm test` leaves that to `npm run test:chaos`.
describe.each(kindsOf(worlds.slice(0, 1), worlds))("with objects $objects", ({ evicting }) => {
  let made: Cloud;
  beforeAll(async () => {
    made = await cloud(evicting ? 1 : 3);
  });
  afterAll(() => made.close());

  storeContract(
    sampling({ describe, it: test }, 5, { pattern: ofTable }),
    "the Durable Object store",
    async () => {
      await made.control("clear");
      let calls = 0;
      let eviction: Promise<unknown> | undefined;
      const store = storeThrough(made.store, async (call) => {
        calls += 1;
        try {
          // Concurrent calls share one eviction: another one would abort pending calls.
          if (evicting) await (eviction ??= made.evict());
          return await call();
        } finally {
          calls -= 1;
          if (calls === 0) eviction = undefined;
        }
      });
      return { store, advance: made.advance, exactClock: true };
    },
    { modelRuns: evicting ? 2 : sized(4, 10) },
  );

  test("has the configured number of shards", async () => {
    expect(await made.control("count")).toHaveLength(evicting ? 1 : 3);
  });
});
