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
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, longestTimer));
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
    }),
};
