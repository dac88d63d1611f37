/** The client's time between attempts. The time limit of an attempt is always real. */
export interface ClientClock {
  /** The time in epoch milliseconds. */
  readonly now: () => number;
  /** Resolves after `ms`, or earlier if `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The longest delay of a timer, in milliseconds. */
export const longestTimer = 2_147_483_647;

export const systemClock: ClientClock = {
  // Unlike `Date.now()`, this clock is never set back.
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

/** The functions that each signal's abort calls. */
const endedBy = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `run` when `signal` is aborted, or soon if it has been. The returned function undoes it. All calls
 * share one listener: Node warns of more than ten, and keeps a few bytes of each `AbortSignal.any`.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal) return () => {};
  const runs = endedBy.get(signal) ?? new Set();
  if (!endedBy.has(signal)) signal.addEventListener("abort", () => runs.forEach((one) => one()));
  endedBy.set(signal, runs.add(run));
  // A hook may have aborted the signal already.
  if (signal.aborted) queueMicrotask(run);
  return () => runs.delete(run);
}
