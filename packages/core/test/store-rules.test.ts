import { sized } from "@svc-webhooks/kit/sized";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract } from "@svc-webhooks/testing/store";
import { describe, expect, test } from "vitest";
import type { Clock, DeliveryStore } from "../src/index.js";
import {
  next,
  readClaim,
  readStates,
  stateOf,
  type Change,
  type StoredRecord,
} from "../src/store-rules.js";

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

const unexpected = (call: string, reply: string) => new Error(`${call}: ${reply}`);

test.each<[string, object]>([
  ["c1795000000000 2", { status: "claimed", fence: 1_795_000_000_000, run: 2, takenOver: false }],
  ["c1795000000000 2 t", { status: "claimed", fence: 1_795_000_000_000, run: 2, takenOver: true }],
  ["b250", { status: "busy", leaseLeftMs: 250 }],
  ["d", { status: "done", lineage: undefined }],
  ["da", { status: "done", lineage: "A" }],
  ["pa", { status: "parked", lineage: "A" }],
])("reads the reply of a claim: %s", (reply, result) => {
  expect(readClaim(reply, unexpected, (text) => text.toUpperCase())).toEqual(result);
});

test.each(["", "x", "OK"])("refuses the reply of a claim: %j", (reply) => {
  expect(() => readClaim(reply, unexpected)).toThrow(`a claim: ${reply}`);
});

test("reads the states of a peek, and refuses any other reply", () => {
  const states = ["running", "failed", "parked", "done", undefined];
  expect(readStates("rfpd-", 5, unexpected)).toEqual(states);
  for (const reply of ["rfpd", "rfpd--", "rfpdx"]) {
    expect(() => readStates(reply, 5, unexpected)).toThrow(`a peek: ${reply}`);
  }
});
