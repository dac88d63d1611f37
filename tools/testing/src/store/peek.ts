import { deepEqual, equal } from "node:assert/strict";
import type { RecordState } from "@svc-webhooks/core";
import { claimant, leaseMs, newKey, retainMs, type StoreCase, type StoreProbe } from "./probe.js";

const [me, other] = [claimant(1), claimant(2)];

/** Checks the states that a peek at these keys returns. Passes if the store has no `peek`. */
async function expectStates(
  probe: StoreProbe,
  expected: readonly (readonly [key: string, state: RecordState | undefined])[],
): Promise<void> {
  const states = await probe.peek(expected.map(([key]) => key));
  if (states) {
    deepEqual(
      states,
      expected.map(([, state]) => state),
    );
  }
}

const isDone = (index: number) => index % 2 === 0;

/** Returns the cases for the optional method `peek`. `texts` are keys with a special meaning in some language. */
export const peekCases = (texts: readonly string[]): readonly StoreCase[] => [
  {
    title: "a peek reports the state of each record, in the order of the keys",
    async run(probe) {
      const [dead, failed, unused, parked, done, running] = Array.from({ length: 6 }, newKey);
      for (const key of [dead, failed, unused, parked, done]) await probe.own(String(key), me);
      await probe.release(String(failed), me, "failed");
      await probe.release(String(unused), me, "unused");
      await probe.release(String(parked), me, "parked");
      await probe.complete(String(done), me);
      await probe.advance(leaseMs);
      await probe.own(String(running), other);
      await expectStates(probe, [
        [String(done), "done"],
        [newKey(), undefined],
        [String(running), "running"],
        [String(parked), "parked"],
        [String(dead), "failed"],
        [String(unused), "failed"],
        [String(failed), "failed"],
        [String(done), "done"],
      ]);
    },
  },
  {
    title: "a peek at 1,000 keys finds each record in its place",
    async run(probe) {
      const keys = Array.from({ length: 1_000 }, newKey);
      const done = new Set(keys.filter((_key, index) => index % 111 === 0));
      for (const key of done) await probe.complete(key, me);
      await expectStates(
        probe,
        keys.map((key) => [key, done.has(key) ? "done" : undefined]),
      );
    },
  },
  {
    title: "a peek at no keys returns an empty list",
    run: (probe) => expectStates(probe, []),
  },
  {
    title: "a peek reports a run whose lease has ended as failed, and not before",
    async run(probe) {
      const key = newKey();
      await probe.own(key, me);
      await probe.advance(leaseMs - probe.borderMs);
      await expectStates(probe, [[key, "running"]]);
      await probe.advance(probe.borderMs);
      await expectStates(probe, [[key, "failed"]]);
      equal(await probe.extend(key, me), true);
      await expectStates(probe, [[key, "running"]]);
    },
  },
  {
    title: "a peek treats an expired record as absent",
    async run(probe) {
      const [done, failed] = [newKey(), newKey()];
      await probe.complete(done, me);
      await probe.own(failed, me);
      await probe.release(failed, me, "failed");
      await probe.advance(retainMs - probe.borderMs);
      await expectStates(probe, [
        [done, "done"],
        [failed, "failed"],
      ]);
      await probe.advance(probe.borderMs);
      await expectStates(probe, [
        [done, undefined],
        [failed, undefined],
      ]);
    },
  },
  {
    title: "a peek uses keys unchanged, whatever they contain",
    async run(probe) {
      for (const [index, key] of texts.entries()) {
        if (isDone(index)) await probe.complete(key, me);
      }
      await expectStates(
        probe,
        texts.map((key, index) => [key, isDone(index) ? "done" : undefined]),
      );
    },
  },
];
