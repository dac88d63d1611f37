/** The client's time between attempts. The time limit of an attempt is always real. */
export interface ClientClock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Resolves after `ms`, earlier if `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The longest time that a timer has. */
export const longestTimer = 2_147_483_647;

export const systemClock: ClientClock = {
  // Unlike `Date.now()`, it is never set back.
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

/**
 * Calls `run` when `signal` is aborted. The returned function undoes it. The listener is on a signal that
 * depends on `signal`: Node warns of more than ten on one, and a hundred requests may share it.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  const own = signal && AbortSignal.any([signal]);
  own?.addEventListener("abort", run);
  return () => own?.removeEventListener("abort", run);
}
