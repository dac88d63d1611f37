/** How long a command waits for the import of a user's module, or for the user's queue, in milliseconds. */
export const patienceMs = 30_000;

/**
 * Runs `work`, and resolves to its result. Rejects with the error of `late` if `work` does not settle within 30 s, and
 * with the reason of `signal` after Ctrl-C.
 *
 * @param work receives a function that restarts the 30 s
 */
export function withPatience<Result>(
  signal: AbortSignal,
  late: () => Error,
  work: (refresh: () => void) => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => reject(signal.reason as Error);
    const patience = setTimeout(() => reject(late()), patienceMs);
    signal.addEventListener("abort", stop, { once: true });
    void work(() => void patience.refresh())
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(patience);
        signal.removeEventListener("abort", stop);
      });
  });
}
