import { deepEqual, equal, ok } from "node:assert/strict";
import type { RecordState, ReleaseRequest } from "@svc-webhooks/core";
import {
  claimant,
  leaseMs,
  newKey,
  type Claimant,
  type Numbers,
  type StoreCase,
  type StoreProbe,
} from "./probe.js";

type State = "absent" | "live" | "dead" | "failed" | "parked" | "done";

/** The expected state of a record. */
interface Facts extends Numbers {
  readonly state: State;
  /** The caller of the last claim. */
  readonly owner: Claimant;
  readonly leaseLeftMs: number;
  readonly lineage: string | undefined;
}

type Inspection = (probe: StoreProbe, key: string, facts: Facts) => Promise<void>;

const [me, other, stranger] = [claimant(1), claimant(2), claimant(3)];
const allTargets = ["failed", "parked", "unused"] as const;
const ageMs = 10_000;

const isTakenBy =
  (by: (facts: Facts) => Claimant): Inspection =>
  async (probe, key, facts) => {
    const { fence, run } = await probe.own(key, by(facts));
    equal(run, facts.run + 1);
    ok(fence > facts.fence, `The fence did not increase: it went from ${facts.fence} to ${fence}.`);
  };

const isBusy: Inspection = async (probe, key, { owner, fence, run, leaseLeftMs }) => {
  await probe.expectBusy(key, stranger, leaseLeftMs);
  deepEqual(await probe.own(key, owner), { fence, run });
};

const isSettled =
  (state: "done" | "parked"): Inspection =>
  async (probe, key, { owner, lineage }) => {
    for (const by of [stranger, owner]) await probe.expectSettled(key, by, state, lineage);
  };

/**
 * For each state, the inspections that verify that a record is in it. An inspection may change the record, so each one
 * gets a record of its own.
 */
const inspections: Readonly<Record<State, readonly Inspection[]>> = {
  absent: [
    async (probe, key) => equal(await probe.forget(key), false),
    async (probe, key) => equal((await probe.own(key, stranger)).run, 1),
  ],
  live: [isBusy],
  dead: [
    isTakenBy(() => stranger),
    async (probe, key, facts) => {
      equal(await probe.extend(key, facts.owner), true);
      await isBusy(probe, key, { ...facts, leaseLeftMs: leaseMs });
    },
  ],
  failed: [
    isTakenBy(({ owner }) => owner),
    async (probe, key, facts) => {
      equal(await probe.extend(key, facts.owner), false);
      await isTakenBy(() => stranger)(probe, key, facts);
    },
  ],
  parked: [isSettled("parked")],
  done: [isSettled("done")],
};

/**
 * Creates a record in this state, in its second run, because then the next claim returns run 1 only if the store has
 * lost the record. Creates nothing if the state is `absent`.
 */
async function arrange(
  probe: StoreProbe,
  key: string,
  state: State,
  owner: Claimant,
): Promise<Facts> {
  if (state === "absent") {
    return { state, owner, fence: 0, run: 0, leaseLeftMs: 0, lineage: undefined };
  }
  await probe.own(key, owner === me ? other : me);
  await probe.advance(leaseMs);
  const numbers = await probe.own(key, owner);
  const leaseLeftMs = state === "live" ? leaseMs - ageMs : 0;
  switch (state) {
    case "live":
      await probe.advance(ageMs);
      break;
    case "dead":
      await probe.advance(leaseMs);
      break;
    case "failed":
    case "parked":
      equal(await probe.release(key, owner, state), true);
      break;
    case "done":
      equal(await probe.complete(key, owner), "owner");
      break;
  }
  return { state, owner, ...numbers, leaseLeftMs, lineage: owner.lineage };
}

interface Start {
  readonly title: string;
  readonly state: State;
  readonly owners: readonly Claimant[];
}

const absent: Start = { title: "an absent record", state: "absent", owners: [me] };
const failed: Start = { title: "a failed record", state: "failed", owners: [me, other] };
const parked: Start = { title: "a parked record", state: "parked", owners: [me, other] };
const done: Start = { title: "a done record", state: "done", owners: [me, other] };
const ownLive: Start = {
  title: "a record with the caller's live lease",
  state: "live",
  owners: [me],
};
const ownDead: Start = {
  title: "a record with the caller's dead lease",
  state: "dead",
  owners: [me],
};
const live: Start = {
  title: "a record with another owner's live lease",
  state: "live",
  owners: [other],
};
const dead: Start = {
  title: "a record with another owner's dead lease",
  state: "dead",
  owners: [other],
};

interface Row {
  readonly title: string;
  readonly from: readonly Start[];
  /** Functions that make a call, check its result and return the expected state of the record. */
  readonly calls: readonly ((probe: StoreProbe, key: string, from: Facts) => Promise<Facts>)[];
}

const completes =
  (result: string) =>
  async (probe: StoreProbe, key: string, from: Facts): Promise<Facts> => {
    equal(await probe.complete(key, me), result);
    return { ...from, state: "done", lineage: result === "already" ? from.lineage : me.lineage };
  };

const releases =
  (to: ReleaseRequest["to"]) =>
  async (probe: StoreProbe, key: string, from: Facts): Promise<Facts> => {
    equal(await probe.release(key, me, to), true);
    const run = from.run - (to === "unused" ? 1 : 0);
    return { ...from, run, state: to === "parked" ? to : "failed" };
  };

/** The rows of the transition table. */
const rows: readonly Row[] = [
  {
    title: "a claim takes",
    from: [absent, failed, ownDead, dead],
    calls: [
      async (probe, key, from) => {
        const { fence, run } = await probe.own(key, me);
        ok(
          fence > from.fence,
          `The fence did not increase: it went from ${from.fence} to ${fence}.`,
        );
        equal(run, from.run + 1);
        const { lineage } = me;
        return { state: "live", owner: me, fence, run, leaseLeftMs: leaseMs, lineage };
      },
    ],
  },
  {
    title: "a repeated claim returns the same numbers for",
    from: [ownLive],
    calls: [
      async (probe, key, from) => {
        deepEqual(await probe.own(key, me), { fence: from.fence, run: from.run });
        return from;
      },
    ],
  },
  {
    title: "a claim is busy on",
    from: [live],
    calls: [
      async (probe, key, from) => {
        await probe.expectBusy(key, me, from.leaseLeftMs);
        return from;
      },
    ],
  },
  ...(["done", "parked"] as const).map((state) => ({
    title: "a claim does not change",
    from: [state === "done" ? done : parked],
    calls: [
      async (probe: StoreProbe, key: string, from: Facts) => {
        await probe.expectSettled(key, me, state, from.lineage);
        return from;
      },
    ],
  })),
  {
    title: "a claim with takeParked takes",
    from: [parked],
    calls: [
      async (probe, key, from) => {
        const result = await probe.own(key, { ...me, takeParked: true });
        equal(result.run, 1);
        ok(
          result.fence > from.fence,
          `The fence did not increase: it went from ${from.fence} to ${result.fence}.`,
        );
        return { ...from, ...result, state: "live", owner: me, leaseLeftMs: leaseMs };
      },
    ],
  },
  {
    title: "a claim with takeParked does not change",
    from: [done],
    calls: [
      async (probe, key, from) => {
        await probe.expectSettled(key, { ...me, takeParked: true }, "done", from.lineage);
        return from;
      },
    ],
  },
  {
    title: "a claim with takeParked is busy on",
    from: [live],
    calls: [
      async (probe, key, from) => {
        await probe.expectBusy(key, { ...me, takeParked: true }, from.leaseLeftMs);
        return from;
      },
    ],
  },
  { title: "a completion restores", from: [absent], calls: [completes("restored")] },
  {
    title: "the owner's completion finishes",
    from: [ownLive, ownDead],
    calls: [completes("owner")],
  },
  {
    title: "a late completion finishes",
    from: [live, dead, failed, parked],
    calls: [completes("late")],
  },
  { title: "a completion does not change", from: [done], calls: [completes("already")] },
  ...allTargets.map((to) => ({
    title: `a release as ${to} ends the claim on`,
    from: [ownLive, ownDead],
    calls: [releases(to)],
  })),
  {
    title: "a release does not change",
    from: [absent, failed, parked, done, live, dead],
    calls: allTargets.map((to) => async (probe, key, from) => {
      equal(await probe.release(key, me, to), false);
      return from;
    }),
  },
  {
    title: "an extension renews",
    from: [ownLive, ownDead],
    calls: [
      async (probe, key, from) => {
        equal(await probe.extend(key, me), true);
        return { ...from, state: "live", leaseLeftMs: leaseMs };
      },
    ],
  },
  {
    title: "an extension does not change",
    from: [absent, failed, parked, done, live, dead],
    calls: [
      async (probe, key, from) => {
        equal(await probe.extend(key, me), false);
        return from;
      },
    ],
  },
  {
    title: "forgetting removes",
    from: [failed, parked, done, dead],
    calls: [
      async (probe, key, from) => {
        equal(await probe.forget(key), true);
        return { ...from, state: "absent" };
      },
    ],
  },
  {
    title: "forgetting does not change",
    from: [absent, live],
    calls: [
      async (probe, key, from) => {
        equal(await probe.forget(key), false);
        return from;
      },
    ],
  },
  {
    title: "a peek does not change",
    from: [absent, failed, parked, done, live, dead],
    calls: [
      async (probe, key, from) => {
        deepEqual((await probe.peek([key])) ?? [peeked[from.state]], [peeked[from.state]]);
        return from;
      },
    ],
  },
];

/** The state that a peek reports for each expected state. */
const peeked: Readonly<Record<State, RecordState | undefined>> = {
  absent: undefined,
  live: "running",
  dead: "failed",
  failed: "failed",
  parked: "parked",
  done: "done",
};

/** One case for each cell of the transition table. */
export const tableCases: readonly StoreCase[] = rows.flatMap(({ title, from, calls }) =>
  from.map(({ title: record, state, owners }) => ({
    title: `${title} ${record}`,
    async run(probe: StoreProbe) {
      for (const owner of owners) {
        for (const perform of calls) {
          // Repeats the call on a new record for each inspection. No state has more than two inspections.
          for (const index of [0, 1]) {
            const key = newKey();
            const to = await perform(probe, key, await arrange(probe, key, state, owner));
            await inspections[to.state][index]?.(probe, key, to);
          }
        }
      }
    },
  })),
);
