/** The receiver's source of time. Replace it only in tests. */
export interface Clock {
  /** The wall-clock time in epoch milliseconds, for `receivedAt`, `expiresAt` and fences. */
  now(): number;
  /** Milliseconds since an arbitrary start, for leases and durations. Never decreases or jumps. */
  monotonic(): number;
  /**
   * Calls `run` once, after `delayMs` (0 … 2^31 − 1). The returned function cancels the call. A
   * pending timer does not keep the process alive.
   */
  after(delayMs: number, run: () => void): () => void;
}

/** The system's clock, the default of each `clock` option. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    // `setTimeout` returns an object with `unref` on Node and Bun, and a number elsewhere.
    const timer: unknown = setTimeout(run, delayMs);
    (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as number);
  },
};
