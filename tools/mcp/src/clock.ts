import { setTimeout as pause } from "node:timers/promises";

/** The time source of tools that wait. */
export interface Clock {
  /** Returns the time in epoch milliseconds. */
  readonly now: () => number;
  /** Resolves after `ms` milliseconds. Rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Returns a signal that is aborted after `ms` milliseconds. */
  readonly timeout: (ms: number) => AbortSignal;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => pause(ms, undefined, { signal }),
  timeout: (ms) => AbortSignal.timeout(ms),
};
