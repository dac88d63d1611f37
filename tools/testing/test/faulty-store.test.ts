import { createReceiver, memoryStore, type DeliveryStore } from "@svc-webhooks/core";
import { expect, test } from "vitest";
import { faultyStore, type FaultPlan } from "../src/faulty-store.js";
import { fakeClock, fixture, signedDelivery } from "../src/index.js";

const call = { signal: new AbortController().signal };
const by = (token: string) => ({ token, leaseMs: 30_000, retainMs: 604_800_000 });
const claim = (store: DeliveryStore, token = "a") => store.claim("key", by(token), call);
const status = (result: unknown) =>
  Promise.resolve(result).then((one) => ({ ...Object(one) }).status);

/** Calls of each method in an order in which a working store gives these results. */
const working = [
  ["claim", claim, { status: "claimed", run: 1 }],
  ["extend", (store: DeliveryStore) => store.extend("key", by("a"), call), true],
  [
    "release",
    (store: DeliveryStore) => store.release("key", { ...by("a"), to: "failed" }, call),
    true,
  ],
  ["complete", (store: DeliveryStore) => store.complete("key", by("a"), call), "late"],
  ["forget", (store: DeliveryStore) => store.forget("key", call), true],
  ["check", (store: DeliveryStore) => store.check?.(call), ["a problem"]],
] as const;

const checking = () => ({ ...memoryStore(), check: () => ["a problem"] });

test("a store without faults has the results and the properties of its own, synchronously", () => {
  const store = faultyStore(checking(), {});
  for (const [, run, expected] of working) {
    const result: unknown = run(store);
    if (typeof expected === "object") expect(result).toMatchObject(expected);
    else expect(result).toBe(expected);
  }
  expect(store.shared).toBe(false);
  expect(faultyStore({ ...memoryStore(), shared: true }, {}).shared).toBe(true);
  expect("check" in faultyStore(memoryStore(), {})).toBe(false);
});

test.each(working.map(([method]) => method))(
  "%s fails as planned, and no other method",
  async (method) => {
    const store = faultyStore(checking(), { [method]: { 1: { fails: "after" } } });
    for (const [name, run] of working) {
      const outcome = await Promise.resolve(run(store) as unknown).then(() => "done", String);
      expect([name, outcome]).toEqual([name, name === method ? "Error: connection reset" : "done"]);
    }
  },
);

test("a call that fails before has no effect, and one that fails after has its effect", async () => {
  const error = new Error("timeout");
  const plan: FaultPlan = {
    claim: { 1: { fails: "before", error }, 2: { fails: "after", error } },
  };
  const inner = memoryStore();
  const store = faultyStore(inner, plan);
  await expect(claim(store)).rejects.toBe(error);
  await expect(claim(store)).rejects.toBe(error);
  expect(await status(claim(inner, "b"))).toBe("busy");
  expect(await status(claim(store))).toBe("claimed");
});

test("a call that lies does not reach the store", async () => {
  const inner = memoryStore();
  const store = faultyStore(inner, { claim: { 1: { lies: { status: "done" } } } });
  expect(await status(claim(store))).toBe("done");
  expect(await status(claim(inner, "b"))).toBe("claimed");
});

test("a call that is late reaches the store when the clock has advanced", async () => {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  const store = faultyStore(inner, { claim: { 1: { lateMs: 500 } } }, { clock });
  const late = claim(store);
  await clock.advance(499);
  expect(await status(claim(inner, "b"))).toBe("claimed");
  await clock.advance(1);
  expect(await status(late)).toBe("busy");
});

test("lateMs is real time by default", async () => {
  const start = performance.now();
  expect(await status(claim(faultyStore(memoryStore(), { claim: { 1: { lateMs: 20 } } })))).toBe(
    "claimed",
  );
  expect(performance.now() - start).toBeGreaterThan(15);
});

test('"*" is for all calls without a fault of their own', async () => {
  const store = faultyStore(memoryStore(), { claim: { 2: {}, "*": { fails: "before" } } });
  await expect(claim(store)).rejects.toThrow("connection reset");
  expect(await status(claim(store))).toBe("claimed");
  await expect(claim(store)).rejects.toThrow("connection reset");
});

test("a receiver on a store that loses the result of a claim runs the event on the next attempt", async () => {
  const runs: unknown[] = [];
  const store = faultyStore(memoryStore(), { claim: { 1: { fails: "after" } } });
  const on = { "*": (event: unknown) => void runs.push(event) };
  const receiver = createReceiver({ secret: "whsec_test", store, on, log: () => {} });
  const delivery = await signedDelivery(fixture("email.sent"));
  expect((await receiver.receive(delivery)).code).toBe("store_unavailable");
  expect((await receiver.receive(delivery)).code).toBe("processed");
  expect(runs).toHaveLength(1);
});

test.each<readonly [string, string, unknown]>([
  ["unknown_option", "plan.claims", { claims: {} }],
  ["unknown_option", "plan.claim[1].late", { claim: { 1: { late: 5 } } }],
  ["invalid_option", "plan", undefined],
  ["invalid_option", "plan.claim", { claim: "fails" }],
  ["invalid_option", "plan.claim[0]", { claim: { 0: {} } }],
  ["invalid_option", "plan.claim[1.5]", { claim: { 1.5: {} } }],
  ["invalid_option", "plan.claim[1]", { claim: { 1: "fails" } }],
  ["invalid_option", "plan.claim[1].lateMs", { claim: { 1: { lateMs: -1 } } }],
  ["invalid_option", "plan.claim[1].fails", { claim: { 1: { fails: "now" } } }],
  ["invalid_option", "plan.claim[*].lies", { claim: { "*": { fails: "after", lies: true } } }],
  ["invalid_option", "plan.claim[1].error", { claim: { 1: { error: new Error("x") } } }],
])("refuses with %s %s", (code, option, plan) => {
  const refused = { name: "ConfigError", code, option };
  const build = () => faultyStore(memoryStore(), plan as FaultPlan);
  expect(build).toThrow(expect.objectContaining(refused) as Error);
});

test("refuses unknown options", () => {
  const build = () => faultyStore(memoryStore(), {}, { clok: fakeClock() } as object);
  expect(build).toThrow(expect.objectContaining({ option: "clok" }) as Error);
});
