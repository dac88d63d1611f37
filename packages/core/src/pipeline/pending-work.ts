import type { Clock } from "../clock.js";
import { withDeadline } from "../lib/deadline.js";
import { isWhole } from "../lib/is-whole.js";
import { longestDelayMs } from "../lib/times.js";
import { assertOption } from "../texts/assert.js";

/** Counts a delivery's pending parts: its response, its run, and the retries that complete or release its claim. */
export interface Work {
  parts: number;
  /** Whether `resume` runs the delivery. A shutdown waits for it, but it does not count toward `maxConcurrent`. */
  readonly isResumed: boolean;
}

/** Counts the verified deliveries that are pending. */
export interface PendingWork {
  readonly begin: (work: Work) => void;
  readonly end: (work: Work) => void;
  readonly isDraining: () => boolean;
  /** Whether `maxConcurrent` deliveries are pending, not counting those that `resume` runs. */
  readonly isFull: () => boolean;
  /** Resolves to the number of pending deliveries, as soon as there are none or after `deadlineMs`. */
  readonly drain: (options: DrainOptions) => Promise<number>;
}

export interface DrainOptions {
  /** How long to wait, 0 … 2^31 − 1 milliseconds. Errors: `invalid_option`. */
  readonly deadlineMs: number;
  /**
   * Whether verified deliveries end as `draining` afterwards too, for a server that still listens then. Default: false,
   * so the receiver accepts deliveries again.
   */
  readonly isFinal?: boolean | undefined;
}

/**
 * Creates the counters of pending work. Keeping the deliveries in a Set instead would cost more (28 instead of 12 µs
 * per delivery): V8 links each table that a Set has outgrown to its successor, so most deliveries stay in memory until
 * a full garbage collection.
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
      // JavaScript callers may pass anything, even undefined.
      const { deadlineMs, isFinal } = Object(options) as typeof options;
      const ok = isWhole(deadlineMs, 0, longestDelayMs);
      assertOption(ok, "invalid_option", "deadlineMs", deadlineMs, 0, longestDelayMs);
      // Keeps the process alive until `drain` ends. The receiver's other timers let an idle process exit.
      const keepAlive = setInterval(() => {}, longestDelayMs);
      drains += 1;
      try {
        await withDeadline(clock, deadlineMs, "drain", whenIdle);
      } catch {
        // The deadline has passed. The returned number shows whether deliveries are still pending.
      }
      if (!isFinal) drains -= 1;
      clearInterval(keepAlive);
      return deliveries;
    },
  };
}
