/** A line in the log of effects. `at` is a time from `now()`. */
export interface Effect {
  readonly deliveryId: string;
  readonly run: number;
  /** The time of the claim according to the store's clock, in epoch milliseconds. */
  readonly fence: number;
  readonly pid: number;
  readonly at: number;
}

/** A 2xx that reached the sender. */
export interface Ack {
  readonly deliveryId: string;
  readonly at: number;
}

/**
 * A fault. Either a process is killed with SIGKILL or stopped for a while with SIGSTOP, or the network goes silent for
 * all processes (`pid` 0). In a silence, connections are silent from `from`, and receivers have left the last one at
 * `to`.
 */
export interface Strike {
  readonly kind: "kill" | "freeze" | "silence";
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly effects: readonly Effect[];
  readonly acks: readonly Ack[];
  readonly strikes: readonly Strike[];
  /** The wall-clock time at which `now()` is 0. */
  readonly epoch: number;
  /** The duration of a lease in real time, in milliseconds. */
  readonly leaseMs: number;
}

export interface Verdict {
  /** The ids of deliveries that were acknowledged but never applied. */
  readonly lost: readonly string[];
  /** The ids of deliveries that were acknowledged before they were applied. */
  readonly early: readonly string[];
  /** The ids of deliveries for which a later run does not have a higher fence. */
  readonly fenceFell: readonly string[];
  /** The second effects of deliveries, by cause. */
  readonly doubles: {
    readonly killed: number;
    readonly frozen: number;
    readonly silenced: number;
    readonly unexplained: readonly Effect[];
  };
}

/** The verdict expected for a correct receiver. */
export const nothingWrong = {
  lost: [],
  early: [],
  fenceFell: [],
  doubles: { unexplained: [] },
} as const;

/** The verdict expected if effects and completions share a transaction: nothing excuses a second effect. */
export const exactlyOnce: Verdict = {
  lost: [],
  early: [],
  fenceFell: [],
  doubles: { killed: 0, frozen: 0, silenced: 0, unexplained: [] },
};

/** The tolerance in milliseconds, because clocks are read in milliseconds and a signal takes a moment to arrive. */
const slackMs = 10;

export function judge({ effects, acks, strikes, epoch, leaseMs }: History): Verdict {
  // The shortest freeze that can let a lease expire, because leases are extended every third of their duration.
  const longFreezeMs = (leaseMs * 2) / 3 - slackMs;
  // A running process extends its lease or completes its record within this time, while no connection is silent. The
  // longest time measured was 96 ms, on a machine under load.
  const enoughMs = leaseMs / 4;

  /**
   * Returns why a second run could start, if a strike explains it. It does so only if, between the effect (or the
   * strike, if that was earlier) and the second claim, the process never ran for `enoughMs` without a silence. If the
   * process made the second claim itself, it was running: timers fire before sockets are read, so it should have
   * extended its lease first. The exception is a process that froze again while reading the requests that had arrived
   * during the first freeze. If a run in between had no effect, it claimed the record at an unknown time before the
   * second claim, and every later extension was rejected. In that case, only the strike itself can be checked.
   *
   * A silence explains a second run that was claimed during it or within a lease of its end, because failed calls are
   * retried for that long, with pauses in between.
   */
  const why = (first: Effect, second: Effect): "killed" | "frozen" | "silenced" | undefined => {
    const claimedAt = first.fence - epoch;
    const claimedAgainAt = second.fence - epoch + slackMs;
    const before = strikes.filter(({ from }) => from <= claimedAgainAt);
    const silences = before.filter(({ kind }) => kind === "silence");
    const own = before.filter(({ pid }) => pid === first.pid);
    const hasRunBetween = second.run > first.run + 1;
    const explains = ({ kind, from, to }: Strike) =>
      (kind === "kill" ? to >= first.at : to >= claimedAt && to - from >= longFreezeMs) &&
      ((kind === "freeze" && hasRunBetween) ||
        (longestRun([...own, ...silences], Math.min(from, first.at), claimedAgainAt) < enoughMs &&
          (first.pid !== second.pid ||
            own.some((one) => one.to <= from && from - one.to < enoughMs))));
    const kinds = new Set(own.filter(explains).map(({ kind }) => kind));
    if (kinds.has("kill")) return "killed";
    if (kinds.has("freeze")) return "frozen";
    return silences.some(({ to }) => claimedAgainAt <= to + leaseMs) ? "silenced" : undefined;
  };

  const doubles = { killed: 0, frozen: 0, silenced: 0, unexplained: [] as Effect[] };
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

/** Returns the longest uninterrupted time for which a process ran between `start` and `end`, outside these strikes. */
function longestRun(strikes: readonly Strike[], start: number, end: number): number {
  let longest = 0;
  let runsFrom = start;
  for (const { kind, from, to } of strikes.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(from, end) - runsFrom);
    runsFrom = Math.max(runsFrom, kind === "kill" ? end : to);
  }
  return Math.max(longest, end - runsFrom);
}

function earliest(records: readonly (Ack | Effect)[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { deliveryId, at } of records) {
    times.set(deliveryId, Math.min(at, times.get(deliveryId) ?? at));
  }
  return times;
}
