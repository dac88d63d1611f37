import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { modelCase } from "./model.js";
import { peekCases } from "./peek.js";
import {
  claimant,
  leaseMs,
  newKey,
  retainMs,
  type Claimant,
  type StoreCase,
  type StoreProbe,
} from "./probe.js";
import { retentionCases } from "./retention.js";
import { silenceCase } from "./silence.js";
import { tableCases } from "./table.js";

const [me, other, third] = [claimant(1), claimant(2), claimant(3)];
const claimants = (name: string) =>
  Array.from({ length: 100 }, (_, index) => ({ token: `${name} ${index}` }));
const many = claimants("token");

const numbers: readonly StoreCase[] = [
  {
    title: "a fence increases with every owner, however close together they claim",
    async run(probe) {
      const key = newKey();
      let before = 0;
      const grows = async (by: Claimant) => {
        const { fence } = await probe.own(key, by);
        ok(fence > before, `The fence did not increase: it went from ${before} to ${fence}.`);
        before = fence;
      };
      for (const to of ["failed", "unused", "failed"] as const) {
        await grows(me);
        await probe.release(key, me, to);
      }
      await grows(me);
      await probe.advance(leaseMs);
      await grows(other);
    },
  },
  ...[
    {
      when: "is forgotten",
      lose: async (probe: StoreProbe, key: string) => {
        equal(await probe.forget(key), true);
        await probe.advance(1);
      },
    },
    { when: "expires", lose: (probe: StoreProbe) => probe.advance(retainMs) },
  ].map(({ when, lose }) => ({
    title: `a fence does not decrease when the record ${when}, although runs restart at 1`,
    async run(probe: StoreProbe) {
      const key = newKey();
      const before = await probe.own(key, me);
      await probe.release(key, me, "failed");
      await lose(probe, key);
      const { fence, run } = await probe.own(key, me);
      ok(fence >= before.fence, `The fence decreased from ${before.fence} to ${fence}.`);
      ok(
        fence >= Date.UTC(2020),
        "The fence of a new record should be the time of the store's clock, in epoch milliseconds.",
      );
      equal(run, 1);
    },
  })),
  {
    title: "a claim counts as a run unless it is released as unused",
    async run(probe) {
      const key = newKey();
      const runs: number[] = [];
      for (const to of ["unused", "unused", "failed", "unused", "failed"] as const) {
        runs.push((await probe.own(key, me)).run);
        await probe.release(key, me, to);
      }
      runs.push((await probe.own(key, me)).run);
      await probe.advance(leaseMs);
      runs.push((await probe.own(key, other)).run);
      deepEqual(runs, [1, 1, 1, 2, 2, 3, 4]);
    },
  },
  {
    title: "a record that was claimed without a lineage has none",
    async run(probe) {
      const { token } = me;
      const [done, parked] = [newKey(), newKey()];
      for (const key of [done, parked]) await probe.own(key, { token });
      await probe.complete(done, { token });
      await probe.release(parked, { token }, "parked");
      await probe.expectSettled(done, other, "done", undefined);
      await probe.expectSettled(parked, other, "parked", undefined);
    },
  },
];

/** A lease, and the calls and waits after which it has just begun. */
type Lease = readonly [title: string, begin: (probe: StoreProbe, key: string) => Promise<unknown>];

const leases: readonly Lease[] = [
  ["the lease of a claim", (probe, key) => probe.own(key, me)],
  [
    "an extended lease",
    async (probe, key) => {
      await probe.own(key, me);
      await probe.advance(leaseMs / 3);
      equal(await probe.extend(key, me), true);
    },
  ],
  [
    "a lease extended after its end",
    async (probe, key) => {
      await probe.own(key, me);
      await probe.advance(leaseMs + leaseMs / 3);
      equal(await probe.extend(key, me), true);
    },
  ],
  [
    "the lease of a takeover",
    async (probe, key) => {
      await probe.own(key, other);
      await probe.advance(leaseMs + leaseMs / 3);
      await probe.own(key, me);
    },
  ],
];

/** Checks that a lease that begins now lasts for `leaseMs`, and waits for its end. Does not check that it has ended. */
async function expectLease(probe: StoreProbe, key: string): Promise<void> {
  await probe.expectBusy(key, third, leaseMs);
  await probe.advance(leaseMs / 2);
  await probe.expectBusy(key, third, leaseMs / 2);
  await probe.advance(leaseMs / 2 - probe.borderMs);
  equal((await probe.claim(key, third)).status, "busy");
  await probe.advance(probe.borderMs);
}

const leaseCases: readonly StoreCase[] = [
  ...leases.map(([title, begin]) => ({
    title: `${title} lasts for exactly leaseMs and reports the time left`,
    async run(probe: StoreProbe) {
      const key = newKey();
      await begin(probe, key);
      await expectLease(probe, key);
      await probe.own(key, third);
    },
  })),
  {
    title: "a lease lasts as long as its own request states",
    async run(probe) {
      const [short, long] = [newKey(), newKey()];
      await probe.own(short, { ...me, leaseMs: 10_000 });
      await probe.own(long, { ...me, leaseMs: 60_000 });
      // Claims with the longest `leaseMs`, because a shorter `leaseMs` would shorten the lease that the claim finds.
      const longest = { ...other, leaseMs: 60_000 };
      await probe.expectBusy(short, longest, 10_000);
      await probe.expectBusy(long, longest, 60_000);
      await probe.extend(short, { ...me, leaseMs: 60_000 });
      await probe.extend(long, { ...me, leaseMs: 10_000 });
      await probe.expectBusy(short, longest, 60_000);
      await probe.expectBusy(long, longest, 10_000);
    },
  },
];

const hourMs = 3_600_000;

const setBack: readonly StoreCase[] = [
  {
    title: "after the clock is set back, a claim shortens a longer lease to its own leaseMs",
    async run(probe) {
      const key = newKey();
      const before = await probe.own(key, me);
      await probe.advance(-hourMs);
      await probe.expectBusy(key, other, leaseMs);
      await expectLease(probe, key);
      const { fence, run } = await probe.own(key, third);
      ok(
        fence > before.fence,
        `The fence did not increase: it went from ${before.fence} to ${fence}.`,
      );
      equal(run, 2);
    },
  },
  {
    title: "a claim repeated after the clock is set back is the same claim",
    async run(probe) {
      const key = newKey();
      const claim = await probe.own(key, me);
      await probe.advance(-hourMs);
      deepEqual(await probe.own(key, me), claim);
      await probe.expectBusy(key, other, leaseMs);
      deepEqual(await probe.own(key, me), claim);
    },
  },
  {
    title: "the owner of a shortened lease can still extend, release and complete it",
    async run(probe) {
      const keys = [newKey(), newKey(), newKey()] as const;
      for (const key of keys) await probe.own(key, me);
      await probe.advance(-hourMs);
      for (const key of keys) await probe.expectBusy(key, other, leaseMs);
      await probe.advance(leaseMs / 2);
      equal(await probe.extend(keys[0], me), true);
      await probe.expectBusy(keys[0], other, leaseMs);
      equal(await probe.release(keys[1], me, "failed"), true);
      equal((await probe.own(keys[1], other)).run, 2);
      equal(await probe.complete(keys[2], me), "owner");
    },
  },
];

const lateness: readonly StoreCase[] = [
  {
    title: "after a late completion the current owner can no longer extend, release or complete",
    async run(probe) {
      const key = newKey();
      await probe.own(key, me);
      await probe.advance(leaseMs);
      await probe.own(key, other);
      equal(await probe.complete(key, me), "late");
      equal(await probe.extend(key, other), false);
      equal(await probe.release(key, other, "failed"), false);
      equal(await probe.complete(key, other), "already");
      await probe.expectSettled(key, third, "done", me.lineage);
    },
  },
];

const count = (results: readonly unknown[], result: unknown) =>
  results.filter((item) => item === result).length;

async function race(probe: StoreProbe, key: string, by = many): Promise<readonly string[]> {
  const results = await Promise.all(by.map((racer) => probe.claim(key, racer)));
  return results.map(({ status }) => status);
}

const takeover: StoreCase = {
  title: "a claim is reported as taken over only if the previous run ended without a result",
  async run(probe) {
    const key = newKey();
    const takenOver = async (by: Claimant) => {
      const result = await probe.claim(key, by);
      return result.status === "claimed" ? result.takenOver : result.status;
    };
    const first = await takenOver(me);
    // `takenOver` is optional, so a store that omits it passes.
    if (first === undefined) return;
    equal(first, false);
    await probe.release(key, me, "failed");
    equal(await takenOver(me), false);
    await probe.advance(leaseMs);
    equal(await takenOver(other), true);
    await probe.release(key, other, "parked");
    await probe.advance(leaseMs);
    equal(await takenOver({ ...me, takeParked: true }), false);
  },
};

const concurrency: readonly StoreCase[] = [
  {
    title: "of 100 concurrent claims on a new record one succeeds and 99 are busy",
    async run(probe) {
      const statuses = await race(probe, newKey());
      deepEqual([count(statuses, "claimed"), count(statuses, "busy")], [1, 99]);
    },
  },
  {
    title: "of 100 concurrent claims on a dead lease one takes over and 99 are busy",
    async run(probe) {
      const key = newKey();
      await probe.own(key, me);
      await probe.advance(leaseMs);
      const statuses = await race(probe, key);
      deepEqual([count(statuses, "claimed"), count(statuses, "busy")], [1, 99]);
    },
  },
  {
    title: "of 200 concurrent claims around a release one succeeds and 199 are busy",
    async run(probe) {
      const key = newKey();
      await probe.own(key, me);
      const releasing = async () => {
        equal(await probe.release(key, me, "failed"), true);
        // Uses other tokens: claims of the first race may still be pending, and a claim with the same token as one of
        // them would be the same claim.
        return race(probe, key, claimants("later token"));
      };
      const statuses = (await Promise.all([race(probe, key), releasing()])).flat();
      deepEqual([count(statuses, "claimed"), count(statuses, "busy")], [1, 199]);
    },
  },
  {
    title: "a claim sent 100 times concurrently is one claim",
    async run(probe) {
      const key = newKey();
      const claims = await Promise.all(many.map(() => probe.own(key, me)));
      deepEqual(
        claims,
        many.map(() => claims[0]),
      );
      equal(claims[0]?.run, 1);
    },
  },
  {
    title: "of 100 concurrent completions one restores the record and 99 find it done",
    async run(probe) {
      const key = newKey();
      const results = await Promise.all(many.map((by) => probe.complete(key, by)));
      deepEqual([count(results, "restored"), count(results, "already")], [1, 99]);
    },
  },
  {
    title: "a claim released 100 times concurrently is released once",
    async run(probe) {
      const key = newKey();
      await probe.own(key, me);
      const results = await Promise.all(many.map(() => probe.release(key, me, "unused")));
      deepEqual([count(results, true), count(results, false)], [1, 99]);
      equal((await probe.own(key, other)).run, 1);
    },
  },
  {
    title: "a record forgotten 100 times concurrently is forgotten once",
    async run(probe) {
      const key = newKey();
      await probe.complete(key, me);
      const results = await Promise.all(many.map(() => probe.forget(key)));
      deepEqual([count(results, true), count(results, false)], [1, 99]);
    },
  },
  {
    title: "100 keys claimed concurrently have 100 owners",
    async run(probe) {
      const keys = many.map(newKey);
      const claims = await Promise.all(keys.map((key) => probe.own(key, me)));
      deepEqual(
        claims.map(({ run }) => run),
        many.map(() => 1),
      );
    },
  },
];

/** Strings with a special meaning in a language, protocol or query, and pairs of strings that differ slightly. */
const hostile: readonly string[] = [
  "__proto__",
  "constructor",
  "toString",
  "undefined",
  "null",
  "true",
  "0",
  "007",
  "7",
  "1e3",
  "1000",
  " ",
  "a",
  "A",
  "a ",
  " a",
  "a b",
  "a\nb",
  "a\r\nb",
  "a\tb",
  "a\u0000",
  "a\u0000b",
  "'a'",
  '"a"',
  "`a`",
  "a\\",
  "a:b",
  "a/b",
  "a/../b",
  "a*",
  "a?",
  "[a]",
  "{a}",
  "{a}{b}",
  "{a}b",
  "%s%n",
  "$1",
  "%00",
  "é",
  "e\u0301",
  "😀",
  "\u2028",
  "x".repeat(1_023),
  `${"x".repeat(1_023)}y`,
  `${"x".repeat(1_023)}z`,
];

/** Pairs of each string with the next string, and of the last string with the first. */
const neighbors = hostile.map(
  (text, index) => [text, String(hostile[(index + 1) % hostile.length])] as const,
);

const shown = (text: string) => `with ${JSON.stringify(text.slice(0, 20))}`;

const ownerOf = (text: string): Claimant => ({ token: `token ${hostile.indexOf(text)}` });

const separation: readonly StoreCase[] = [
  {
    title: "calls on a record do not change other records, even of the same token",
    async run(probe) {
      const kept = newKey();
      const [failed, parked, done, forgotten] = [newKey(), newKey(), newKey(), newKey()];
      const { fence, run } = await probe.own(kept, me);
      await probe.advance(leaseMs / 2);
      for (const key of [failed, parked, done, forgotten]) await probe.own(key, me);
      await probe.release(failed, me, "failed");
      await probe.release(parked, me, "parked");
      await probe.complete(done, me);
      await probe.release(forgotten, me, "failed");
      await probe.forget(forgotten);
      await probe.expectBusy(kept, other, leaseMs / 2);
      deepEqual(await probe.own(kept, me), { fence, run });
      equal((await probe.own(failed, other)).run, 2);
      await probe.expectSettled(parked, other, "parked", me.lineage);
      await probe.expectSettled(done, other, "done", me.lineage);
      equal((await probe.own(forgotten, other)).run, 1);
    },
  },
  {
    title: "keys are used unchanged, whatever they contain",
    async run(probe) {
      for (const key of hostile) equal((await probe.own(key, ownerOf(key))).run, 1, shown(key));
      for (const [key, next] of neighbors) {
        equal(await probe.release(key, ownerOf(next), "failed"), false, shown(key));
        equal(await probe.extend(key, ownerOf(key)), true, shown(key));
      }
      for (const key of hostile) {
        equal(await probe.release(key, ownerOf(key), "failed"), true, shown(key));
      }
      for (const key of hostile) equal((await probe.own(key, other)).run, 2, shown(key));
      for (const key of hostile) equal(await probe.complete(key, other), "owner", shown(key));
      for (const key of hostile) equal(await probe.forget(key), true, shown(key));
    },
  },
  {
    title: "tokens are compared unchanged, whatever they contain",
    async run(probe) {
      for (const [token, next] of neighbors) {
        const key = newKey();
        const [by, another] = [
          { ...me, token },
          { ...me, token: next },
        ];
        const claim = await probe.own(key, by);
        deepEqual(await probe.own(key, by), claim);
        equal((await probe.claim(key, another)).status, "busy", shown(next));
        equal(await probe.extend(key, another), false, shown(next));
        equal(await probe.release(key, another, "failed"), false, shown(next));
        equal(await probe.extend(key, by), true, shown(token));
        equal(await probe.release(key, by, "failed"), true, shown(token));
      }
    },
  },
  {
    title: "lineages are returned unchanged, whatever they contain",
    async run(probe) {
      for (const lineage of hostile) {
        const [done, parked] = [newKey(), newKey()];
        for (const key of [done, parked]) await probe.own(key, { ...me, lineage });
        await probe.complete(done, { ...me, lineage });
        await probe.release(parked, { ...me, lineage }, "parked");
        await probe.expectSettled(done, other, "done", lineage);
        await probe.expectSettled(parked, other, "parked", lineage);
      }
    },
  },
];

const setup: readonly StoreCase[] = [
  {
    title: "shared states whether other processes see the same records",
    async run({ store }) {
      equal(typeof store.shared, "boolean");
    },
  },
  {
    title: "check() resolves to a list of texts",
    async run(probe) {
      const problems = await probe.check();
      if (!probe.store.check) return;
      ok(Array.isArray(problems), "The result should be a list.");
      for (const problem of problems) notEqual(String(problem).trim(), "");
    },
  },
];

/**
 * Returns the cases of the contract. The last case runs `modelRuns` random sequences. The case of silent connections is
 * included only if `abandon` is set.
 */
export const storeCases = (
  modelRuns: number,
  abandon: (() => unknown) | undefined,
): readonly StoreCase[] => [
  ...tableCases,
  ...numbers,
  ...leaseCases,
  ...setBack,
  ...retentionCases,
  ...lateness,
  takeover,
  ...concurrency,
  ...separation,
  ...peekCases(hostile),
  ...setup,
  ...(abandon ? [silenceCase(abandon)] : []),
  modelCase(modelRuns),
];
