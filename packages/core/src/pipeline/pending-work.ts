import type { Clock } from "../clock.js";
import { withDeadline } from "../lib/deadline.js";
import { isWhole } from "../lib/is-whole.js";
import { longestDelayMs } from "../lib/times.js";
import { assertOption } from "../texts/assert.js";

/** The number of a delivery's pending parts: its response, its run and the retries of its store calls. */
export interface Work {
  parts: number;
  /** Whether `resume` runs the delivery. A shutdown waits for it, and it does not count for `maxConcurrent`. */
  readonly isResumed: boolean;
}

/** Counts the verified deliveries that are pending. */
export interface PendingWork {
  readonly begin: (work: Work) => void;
  readonly end: (work: Work) => void;
  readonly isDraining: () => boolean;
  /** Whether as many deliveries are pending as may be. */
  readonly isFull: () => boolean;
  /** Resolves when no delivery is pending, or after `deadlineMs`, with the number still pending. */
  readonly drain: (options: { readonly deadlineMs: number }) => Promise<number>;
}

/**
 * Creates the counters of pending work. They replace a Map or Set of deliveries: V8 links each table that a Set
 * has outgrown to the next, which kept most deliveries alive until a full collection (28 instead of 12 µs per
 * delivery).
 */
export function trackWork(clock: Clock, mostDeliveries: number): PendingWork {
  let deliveries = 0;
  let resumed = 0;
  let drains = 0;
  let waiters: (() => void)[] = [];

  const whenIdle = () =>
    deliveries > 0 ? new Promise<void>((wake) => waiters.push(wake)) : undefined;

  const count = ({ isResumed }: Work, change: number) => {
    deliveries += change;
    if (isResumed) resumed += change;
  };

  return {
    begin(work) {
      if (work.parts === 0) count(work, 1);
      work.parts += 1;
    },

    end(work) {
      work.parts -= 1;
      if (work.parts === 0) count(work, -1);
      if (deliveries > 0) return;
      for (const wake of waiters) wake();
      waiters = [];
    },

    isDraining: () => drains > 0,

    isFull: () => deliveries - resumed >= mostDeliveries,

    async drain(options) {
      // JavaScript callers may pass anything.
      const { deadlineMs } = Object(options) as typeof options;
      const ok = isWhole(deadlineMs, 0, longestDelayMs);
      assertOption(ok, "invalid_option", "deadlineMs", deadlineMs, 0, longestDelayMs);
      // Other timers let an idle process exit; a caller of `drain` wants it to stay alive.
      const keepAlive = setInterval(() => {}, longestDelayMs);
      drains += 1;
      try {
        await withDeadline(clock, deadlineMs, "drain", whenIdle);
      } catch {
        // The deadline has passed. The returned number shows it.
      }
      drains -= 1;
      clearInterval(keepAlive);
      return deliveries;
    },
  };
}
