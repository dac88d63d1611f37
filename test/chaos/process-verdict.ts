import { realLeaseMs } from "./process-time.js";

/** A line in the log of effects. Times are those of `now()`. */
export interface Effect {
  readonly deliveryId: string;
  readonly run: number;
  /** Of a fresh claim: when it was made, in epoch milliseconds of the store's clock. */
  readonly fence: number;
  readonly pid: number;
  readonly at: number;
}

/** A 2xx that reached the sender. */
export interface Ack {
  readonly deliveryId: string;
  readonly at: number;
}

/** What was done to a process: killed with SIGKILL, or stopped for a while with SIGSTOP. */
export interface Strike {
  readonly kind: "kill" | "freeze";
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly effects: readonly Effect[];
  readonly acks: readonly Ack[];
  readonly strikes: readonly Strike[];
  /** What the clock on the wall says when `now()` says 0. */
  readonly epoch: number;
}

export interface Verdict {
  /** Acknowledged, and never applied. */
  readonly lost: readonly string[];
  /** Acknowledged before they were applied. */
  readonly early: readonly string[];
  /** A later run has no higher fence. */
  readonly fenceFell: readonly string[];
  /** Second effects of a delivery, by what made them necessary. */
  readonly doubles: {
    readonly killed: number;
    readonly frozen: number;
    readonly unexplained: readonly Effect[];
  };
}

/** What a verdict has to say of a receiver that keeps its promise. */
export const nothingWrong = {
  lost: [],
  early: [],
  fenceFell: [],
  doubles: { unexplained: [] },
} as const;

/** Clocks are read in milliseconds, and a signal takes a moment to arrive. */
const slackMs = 10;

/** Leases are renewed every third of their length, so less of a freeze ends none. */
const longFreezeMs = (realLeaseMs * 2) / 3 - slackMs;

/**
 * A process that runs for so long extends its lease, or completes what it has finished: the store is
 * always reachable here. The longest that one took was 96 ms, on a machine with other work.
 */
const enoughMs = realLeaseMs / 4;

export function judge({ effects, acks, strikes, epoch }: History): Verdict {
  /**
   * A second run is explained by a strike only if the process has not run for long enough between
   * its effect, or the strike where that came first, and the second claim. If it made that claim
   * itself, it was running: timers fire before sockets are read, so it should have extended its lease
   * first. Only a process that freezes again among the requests it found when it woke continues with
   * these.
   */
  const why = (first: Effect, second: Effect): "killed" | "frozen" | undefined => {
    const claimedAt = first.fence - epoch;
    const claimedAgainAt = second.fence - epoch + slackMs;
    const own = strikes.filter(({ pid, from }) => pid === first.pid && from <= claimedAgainAt);
    const explains = ({ kind, from, to }: Strike) =>
      (kind === "kill" ? to >= first.at : to >= claimedAt && to - from >= longFreezeMs) &&
      longestRun(own, Math.min(from, first.at), claimedAgainAt) < enoughMs &&
      (first.pid !== second.pid || own.some((one) => one.to <= from && from - one.to < enoughMs));
    const kinds = new Set(own.filter(explains).map(({ kind }) => kind));
    if (kinds.has("kill")) return "killed";
    return kinds.has("freeze") ? "frozen" : undefined;
  };

  const doubles = { killed: 0, frozen: 0, unexplained: [] as Effect[] };
  const fenceFell: string[] = [];
  const last = new Map<string, Effect>();
  for (const effect of effects.toSorted((a, b) => a.run - b.run)) {
    const { deliveryId, run, fence } = effect;
    const before = last.get(deliveryId);
    last.set(deliveryId, effect);
    if (!before) continue;
    if (run === before.run || fence <= before.fence) fenceFell.push(deliveryId);
    const cause = why(before, effect);
    if (cause) doubles[cause] += 1;
    else doubles.unexplained.push(effect);
  }

  const appliedAt = earliest(effects);
  const acknowledged = [...earliest(acks)];
  return {
    lost: acknowledged.flatMap(([id]) => (appliedAt.has(id) ? [] : id)),
    early: acknowledged.flatMap(([id, at]) => (at < (appliedAt.get(id) ?? 0) ? id : [])),
    fenceFell,
    doubles,
  };
}

/** For how long at a stretch a process ran between two times, given all strikes at it. */
function longestRun(strikes: readonly Strike[], start: number, end: number): number {
  let longest = 0;
  let runsFrom = start;
  for (const { kind, from, to } of strikes.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(from, end) - runsFrom);
    runsFrom = Math.max(runsFrom, kind === "kill" ? end : to);
  }
  return Math.max(longest, end - runsFrom);
}

function earliest(facts: readonly (Ack | Effect)[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { deliveryId, at } of facts) {
    times.set(deliveryId, Math.min(at, times.get(deliveryId) ?? at));
  }
  return times;
}
