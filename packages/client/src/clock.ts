/**
 * The clock that the client uses for deadlines and for pauses between attempts. The time limit of a single attempt
 * always uses real time.
 */
export interface ClientClock {
  /** The time in epoch milliseconds. */
  readonly now: () => number;
  /** Resolves after `ms` milliseconds, or earlier if `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The longest delay that a timer supports, in milliseconds. */
export const longestTimer = 2_147_483_647;

export const systemClock: ClientClock = {
  // Uses the monotonic clock, because `Date.now()` may be set back.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        forget();
        resolve();
      };
      const timer = setTimeout(end, ms);
      const forget = onAbort(signal, end);
    }),
};

/** Maps each signal to the functions to call when it is aborted. */
const endedBy = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `run` when `signal` is aborted, or in a microtask if it already is. Returns a function that removes `run`, so
 * that a later abort does not call it. All calls for a signal share one listener, because Node warns about more than
 * ten listeners, and retains a few bytes for each `AbortSignal.any`.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal) return () => {};
  const runs = endedBy.get(signal) ?? new Set();
  if (!endedBy.has(signal)) signal.addEventListener("abort", () => runs.forEach((end) => end()));
  endedBy.set(signal, runs.add(run));
  // Needed because a hook may have aborted the signal already: no event follows then.
  if (signal.aborted) queueMicrotask(run);
  return () => runs.delete(run);
}
