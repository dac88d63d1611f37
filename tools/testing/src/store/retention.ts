import { deepEqual, equal } from "node:assert/strict";
import { claimant, leaseMs, newKey, retainMs, type StoreCase, type StoreProbe } from "./probe.js";

type Call = (probe: StoreProbe, key: string) => Promise<unknown>;

const [me, other] = [claimant(1), claimant(2)];
const ageMs = 60_000;

/** Returns a case that makes calls and waits (in ms), and then checks that the record expires after exactly `ms`. */
const lasts = (title: string, ms: number, ...steps: readonly (Call | number)[]): StoreCase => ({
  title,
  async run(probe) {
    const [first, second] = [newKey(), newKey()];
    for (const step of steps) {
      if (typeof step === "number") await probe.advance(step);
      else for (const key of [first, second]) await step(probe, key);
    }
    await probe.advance(ms - probe.borderMs);
    const aliveMs = ms - probe.borderMs;
    const still = `The record should still exist ${aliveMs} ms after the last call: ${title}.`;
    equal(await probe.forget(first), true, still);
    await probe.advance(probe.borderMs);
    const gone = `The record should have expired ${ms} ms after the last call: ${title}.`;
    equal(await probe.forget(second), false, gone);
  },
});

const claims: Call = (probe, key) => probe.own(key, me);
const fails: Call = (probe, key) => probe.release(key, me, "failed");
const parks: Call = (probe, key) => probe.release(key, me, "parked");
const completes: Call = (probe, key) => probe.complete(key, me);
const extendsIt: Call = async (probe, key) => equal(await probe.extend(key, me), true);
const otherClaims: Call = (probe, key) => probe.claim(key, other);

/** Calls that restart the retention of a claimed record. */
const renewals: Readonly<Record<string, Call>> = {
  "a takeover": otherClaims,
  "a release as failed": fails,
  "a release as unused": (probe, key) => probe.release(key, me, "unused"),
  "a release as parked": parks,
  "a completion": completes,
  "a late completion": (probe, key) => probe.complete(key, other),
};

/** Calls that do not change the retention of a claimed record. */
const refusals: Readonly<Record<string, Call>> = {
  "a repeated claim": claims,
  "a refused claim": otherClaims,
  "a release of another owner's claim": (probe, key) => probe.release(key, other, "failed"),
  "an extension of another owner's claim": (probe, key) => probe.extend(key, other),
  "a peek": (probe, key) => probe.peek([key]),
};

/** Cases that check how long records are kept: to the millisecond if the clock is exact, otherwise to the second. */
export const retentionCases: readonly StoreCase[] = [
  lasts("a claim keeps the record for exactly retainMs", retainMs, claims),
  lasts("a completion that restores a record keeps it for exactly retainMs", retainMs, completes),
  lasts(
    "a completion of a done record keeps it for exactly retainMs from then on",
    retainMs,
    completes,
    ageMs,
    completes,
  ),
  ...Object.entries(renewals).map(([title, renew]) =>
    lasts(
      `${title} keeps the record for exactly retainMs from then on`,
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
      otherClaims,
    ),
  ),
  lasts(
    "an extension does not change a retention that outlasts its lease",
    retainMs - ageMs,
    claims,
    ageMs,
    extendsIt,
  ),
  {
    title: "an extension keeps the record as long as its lease",
    async run(probe) {
      const key = newKey();
      const { fence, run } = await probe.own(key, me);
      await probe.advance(retainMs - leaseMs / 3);
      await extendsIt(probe, key);
      await probe.advance(leaseMs - probe.borderMs);
      await probe.expectBusy(key, other, probe.borderMs);
      deepEqual(await probe.own(key, me), { fence, run });
      await probe.advance(probe.borderMs);
      equal(
        await probe.forget(key),
        false,
        `The record should have expired together with its lease, ${leaseMs} ms after the extension.`,
      );
    },
  },
  {
    title: "every call treats an expired record as absent",
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
