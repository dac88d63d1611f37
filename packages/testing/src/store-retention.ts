import { deepEqual, equal } from "node:assert/strict";
import {
  claimant,
  leaseMs,
  newKey,
  retainMs,
  type StoreCase,
  type StoreProbe,
} from "./store-probe.js";

type Call = (probe: StoreProbe, key: string) => Promise<unknown>;

const [me, other] = [claimant(1), claimant(2)];
const ageMs = 60_000;

/** After these calls and waits the record is there for so long, and gone from then on. */
const lasts = (title: string, ms: number, ...steps: readonly (Call | number)[]): StoreCase => ({
  title,
  async run(probe) {
    const [first, second] = [newKey(), newKey()];
    for (const step of steps) {
      if (typeof step === "number") await probe.advance(step);
      else for (const key of [first, second]) await step(probe, key);
    }
    await probe.advance(ms - probe.borderMs);
    equal(await probe.forget(first), true, "the record is still there");
    await probe.advance(probe.borderMs);
    equal(await probe.forget(second), false, "the record is gone");
  },
});

const claims: Call = (probe, key) => probe.own(key, me);
const fails: Call = (probe, key) => probe.release(key, me, "failed");
const parks: Call = (probe, key) => probe.release(key, me, "parked");
const completes: Call = (probe, key) => probe.complete(key, me);
const extendsIt: Call = async (probe, key) => equal(await probe.extend(key, me), true);
const claimsToo: Call = (probe, key) => probe.claim(key, other);

/** What sets the retention of a claimed record anew. */
const renewals: Readonly<Record<string, Call>> = {
  "a takeover": claimsToo,
  "a release as failed": fails,
  "a release as unused": (probe, key) => probe.release(key, me, "unused"),
  "a release as parked": parks,
  "a completion": completes,
  "a late completion": (probe, key) => probe.complete(key, other),
};

/** What leaves the retention of a claimed record alone. */
const refusals: Readonly<Record<string, Call>> = {
  "a claim that is sent again": claims,
  "a claim that is refused": claimsToo,
  "a release of another's claim": (probe, key) => probe.release(key, other, "failed"),
  "an extension of another's claim": (probe, key) => probe.extend(key, other),
};

/** How long records are kept, to the border. */
export const retentionCases: readonly StoreCase[] = [
  lasts("a claim keeps the record for its retention, and no longer", retainMs, claims),
  lasts(
    "a completion that restores a record keeps it for its retention, and no longer",
    retainMs,
    completes,
  ),
  lasts(
    "a completion of what is done keeps it for its retention from then on, and no longer",
    retainMs,
    completes,
    ageMs,
    completes,
  ),
  ...Object.entries(renewals).map(([title, renew]) =>
    lasts(
      `${title} keeps the record for its retention from then on, and no longer`,
      retainMs,
      claims,
      ageMs,
      renew,
    ),
  ),
  ...Object.entries(refusals).map(([title, refuse]) =>
    lasts(
      `${title} does not prolong the retention`,
      retainMs - leaseMs / 2,
      claims,
      leaseMs / 2,
      refuse,
    ),
  ),
  ...Object.entries({ done: completes, parked: parks }).map(([state, settle]) =>
    lasts(
      `a claim on a ${state} record does not prolong the retention`,
      retainMs - ageMs,
      claims,
      settle,
      ageMs,
      claimsToo,
    ),
  ),
  lasts(
    "an extension leaves a retention beyond its lease as it is",
    retainMs - ageMs,
    claims,
    ageMs,
    extendsIt,
  ),
  {
    title: "an extension keeps the record for as long as its lease",
    async run(probe) {
      const key = newKey();
      const { fence, run } = await probe.own(key, me);
      await probe.advance(retainMs - leaseMs / 3);
      await extendsIt(probe, key);
      await probe.advance(leaseMs - probe.borderMs);
      await probe.expectBusy(key, other, probe.borderMs);
      deepEqual(await probe.own(key, me), { fence, run });
      await probe.advance(probe.borderMs);
      equal(await probe.forget(key), false, "the record is gone");
    },
  },
  {
    title: "an expired record is as if it had never been, for every call",
    async run(probe) {
      const keys = [newKey(), newKey(), newKey(), newKey()] as const;
      for (const key of keys) {
        await probe.own(key, other);
        await probe.release(key, other, "failed");
        await claims(probe, key);
      }
      await probe.advance(retainMs);
      equal(await probe.release(keys[0], me, "parked"), false);
      equal((await probe.own(keys[0], me)).run, 1);
      equal(await probe.extend(keys[1], me), false);
      equal((await probe.own(keys[1], me)).run, 1);
      equal(await probe.complete(keys[2], me), "restored");
      equal(await probe.forget(keys[3]), false);
    },
  },
];
