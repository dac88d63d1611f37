import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { collectGarbage, remaining } from "@svc-webhooks/kit/garbage";
import { describe, expect, test } from "vitest";
import { fingerprint } from "../src/crypto/hmac-node.js";
import type { DeliveryStore } from "../src/index.js";
import { timed } from "./support.js";

describe("after its response, a delivery is released", () => {
  const deliveries = 20;
  /** Keeps the promises of pending calls, as a client does. */
  const pendingCalls: unknown[] = [];
  const hangs = () => new Promise<never>((...settle) => pendingCalls.push(settle));
  const fails = () => Promise.reject(new Error("down"));

  test.each<[string, Partial<DeliveryStore>, string]>([
    ["while complete is retried", { complete: fails }, "processed"],
    ["while complete hangs", { complete: hangs }, "processed"],
    ["while claim and release hang", { claim: hangs, release: hangs }, "store_unavailable"],
  ])("%s", async (_, faults, code) => {
    const { receiver, clock } = timed({}, () => faults);
    const bodies: WeakRef<Uint8Array>[] = [];
    const respond = async (_value: unknown, index: number) => {
      const delivery = await signed(eventBody(), { "x-svc-delivery-id": `dlv_${index}` });
      // The delivery has a copy of the bytes that it was made of.
      bodies.push(new WeakRef(delivery.body));
      return (await receiver.receive(delivery)).code;
    };
    const responses = Promise.all(Array.from({ length: deliveries }, respond));
    await clock.advance(2_500);
    expect(new Set(await responses)).toEqual(new Set([code]));
    // The store calls are still pending, so the deliveries have not ended.
    expect(clock.timers).toBeGreaterThanOrEqual(deliveries);
    // V8 may keep the last one in a register or a stack frame.
    expect(await remaining(bodies, 1)).toBeLessThanOrEqual(1);
  });
});

test("the key of a record keeps no more of its hash than its 32 digits", () => {
  const keys: unknown[] = Array.from({ length: 20_000 });
  const heapInUse = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // The first calls also allocate what V8 keeps of the code itself.
  for (const index of keys.keys()) void fingerprint(`warm_${index}`);
  const before = heapInUse();
  for (const index of keys.keys()) keys[index] = fingerprint(`dlv_${index}`);
  // A string of 32 digits and its header need 48 bytes; a slice of 64 digits needs 112.
  expect((heapInUse() - before) / keys.length).toBeLessThan(72);
});
