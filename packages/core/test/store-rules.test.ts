import { sized } from "@svc-webhooks/kit/sized";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract } from "@svc-webhooks/testing/store";
import { describe, test } from "vitest";
import type { Clock, DeliveryStore } from "../src/index.js";
import { next, stateOf, type Change, type StoredRecord } from "../src/store-rules.js";

/** A store that has nothing but a map and the rules. */
function ruledStore(clock: Clock): DeliveryStore {
  const records = new Map<string, StoredRecord>();
  const change: Change<string> = (call, key, request) => {
    const [result, record] = next(call, records.get(key), request, clock.now());
    if (record) records.set(key, record);
    if (record === null) records.delete(key);
    return result;
  };
  return {
    shared: false,
    claim: (key, request) => change("claim", key, request),
    complete: (key, request) => change("complete", key, request),
    release: (key, request) => change("release", key, request),
    extend: (key, request) => change("extend", key, request),
    forget: (key) => change("forget", key, undefined),
    peek: (keys) =>
      keys.map((key) => {
        const record = records.get(key);
        return record && stateOf(record, clock.now());
      }),
  };
}

storeContract(
  { describe, it: test },
  "a store of the rules alone",
  () => {
    const clock = fakeClock();
    return { store: ruledStore(clock), advance: clock.jump, exactClock: true };
  },
  { modelRuns: sized(100, 1_000) },
);
