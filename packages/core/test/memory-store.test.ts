import { sized } from "@svc-webhooks/kit/sized";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract } from "@svc-webhooks/testing/store";
import { describe, expect, test } from "vitest";
import { memoryStore, type DeliveryStore, type ReleaseRequest } from "../src/index.js";

const leaseMs = 30_000;
const retainMs = 1_000_000;
const call = { signal: new AbortController().signal };

function make(maxRecords?: number) {
  const clock = fakeClock();
  return { clock, store: memoryStore({ maxRecords, clock }) };
}

const claim = async (store: DeliveryStore, key: string) =>
  await store.claim(key, { token: key, leaseMs, retainMs }, call);

async function put(store: DeliveryStore, key: string, state: "done" | ReleaseRequest["to"]) {
  await claim(store, key);
  const request = { token: key, leaseMs, retainMs };
  if (state === "done") await store.complete(key, request, call);
  else await store.release(key, { ...request, to: state }, call);
}

/**
 * Returns the keys whose records the store still has. Removes them, because `forget` is the only call that adds
 * none.
 */
async function stillThere(store: DeliveryStore, keys: readonly string[]): Promise<string[]> {
  const there: string[] = [];
  for (const key of keys) if (await store.forget(key, call)) there.push(key);
  return there;
}

storeContract(
  { describe, it: test },
  "the memory store",
  () => {
    const { store, clock } = make();
    return { store, advance: clock.jump, exactClock: true };
  },
  { modelRuns: sized(100, 1_000) },
);

describe("a full memory store", () => {
  test.each([
    [1, ["dead lease", "parked", "failed"]],
    [2, ["dead lease", "parked"]],
    [3, ["dead lease"]],
    [4, []],
  ])(
    "evicts done before failed before parked before running with a dead lease (%i new records)",
    async (newcomers, survivors) => {
      const { store, clock } = make(4);
      await claim(store, "dead lease");
      clock.jump(leaseMs);
      for (const state of ["parked", "failed", "done"] as const) await put(store, state, state);
      for (let index = 0; index < newcomers; index += 1) await claim(store, `newcomer ${index}`);
      const all = ["dead lease", "parked", "failed", "done"];
      expect(await stillThere(store, all)).toEqual(survivors);
    },
  );

  test("evicts the oldest of a state first", async () => {
    const { store } = make(3);
    for (const key of ["first", "second", "third"]) await put(store, key, "done");
    // Completing it again makes it the newest.
    await store.complete("first", { token: "first", leaseMs, retainMs }, call);
    await claim(store, "newcomer");
    expect(await stillThere(store, ["first", "second", "third"])).toEqual(["first", "third"]);
  });

  test("never evicts a live lease: the claim throws until one has ended", async () => {
    const { store, clock } = make(2);
    await claim(store, "a");
    await claim(store, "b");
    await expect(claim(store, "c")).rejects.toThrow("every record is running");
    clock.jump(leaseMs);
    expect(await claim(store, "c")).toMatchObject({ status: "claimed", evictedEarly: true });
    expect(await claim(store, "c")).toMatchObject({ run: 1, evictedEarly: false });
  });

  test("reports an eviction before the end of the retention, and none after it", async () => {
    const { store, clock } = make(1);
    await put(store, "a", "done");
    expect(await claim(store, "b")).toMatchObject({ evictedEarly: true });
    clock.jump(retainMs);
    expect(await claim(store, "c")).toMatchObject({ evictedEarly: false });
  });

  test("evicts a record for a completion that restores a lost one", async () => {
    const { store } = make(1);
    await put(store, "a", "failed");
    expect(await store.complete("b", { token: "b", leaseMs, retainMs }, call)).toBe("restored");
    expect(await claim(store, "b")).toMatchObject({ status: "done" });
  });
});

test("expired records are removed before any other is evicted", async () => {
  const { store, clock } = make(1_000);
  for (let index = 0; index < 1_000; index += 1) await put(store, `old ${index}`, "done");
  clock.jump(retainMs);
  for (let index = 0; index < 1_000; index += 1) {
    expect(await claim(store, `new ${index}`)).toMatchObject({ evictedEarly: false });
  }
});

test("the fence never decreases, even if the wall clock is set back", async () => {
  let wall = 5_000;
  const clock = fakeClock();
  const store = memoryStore({
    clock: { now: () => wall, monotonic: () => clock.monotonic(), after: () => () => {} },
  });
  expect(await claim(store, "a")).toMatchObject({ fence: 5_000 });
  wall = 1_000;
  clock.jump(leaseMs);
  expect(await claim(store, "a")).toMatchObject({ fence: 5_001, run: 2 });
});

test("rejects options that are unknown or out of range", () => {
  expect(() => memoryStore({ maxRecords: 0 })).toThrow("`maxRecords` is 0,");
  expect(() => memoryStore({ maxRecord: 5 } as object)).toThrow("maxRecord");
});
