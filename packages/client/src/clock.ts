/**
 * The clock that the client uses for deadlines and for pauses between attempts. The time limit of a single attempt is
 * always measured in real time.
 */
export interface ClientClock {
  /** Returns the current time, in epoch milliseconds. */
  readonly now: () => number;
  /** Resolves after `ms` milliseconds, or earlier if `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The longest delay that a timer supports, in milliseconds. */
export const longestTimer = 2_147_483_647;

export const systemClock: ClientClock = {
  // Uses the monotonic clock, because the system clock behind `Date.now()` may be changed.
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
 * ten. `AbortSignal.any` is not used, because Node retains a few bytes for each call.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal) return () => {};
  const runs = endedBy.get(signal) ?? new Set();
  if (!endedBy.has(signal)) signal.addEventListener("abort", () => runs.forEach((end) => end()));
  endedBy.set(signal, runs.add(run));
  // If a hook has already aborted the signal, no event follows.
  if (signal.aborted) queueMicrotask(run);
  return () => runs.delete(run);
}
