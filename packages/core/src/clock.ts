/** Time as the receiver sees it. Replace it in tests; leave it alone elsewhere. */
export interface Clock {
  /** Wall-clock time in epoch milliseconds: for `receivedAt`, `expiresAt` and fences. */
  now(): number;
  /** Milliseconds from an arbitrary start that never jump: for leases and durations. */
  monotonic(): number;
  /** Calls `run` once, `delayMs` (0 … 2^31 − 1) from now; the answer cancels it. Keeps no process alive. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    // An object with `unref` on Node and Bun, a number elsewhere.
    const timer: unknown = setTimeout(run, delayMs);
    (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as number);
  },
};
