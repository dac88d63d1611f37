import { andThen, tryThen } from "../lib/maybe-promise.js";
import type { MaybePromise } from "../store.js";

/**
 * Calls `around` with a function `run`, which calls `start` at most once, and never after `around` has ended. `start`
 * runs the handler, or stores the delivery in a queue. The result settles once `around` and `start` have settled, and
 * succeeds only if both do. If the result depended on `around` alone, a missing `return` in it would acknowledge an
 * event before the event is handled or stored.
 */
export function surround(
  start: () => unknown,
  around: (run: () => unknown) => unknown,
): MaybePromise<unknown> {
  let result: (() => unknown) | undefined;

  const run = () => {
    if (!result) {
      // Applies while `start` runs, in case a handler calls `run` itself. The error is created only in that case,
      // because its stack is expensive.
      result = () => {
        throw new Error("`run` was called while it was running.");
      };
      result = resultOf(start);
    }
    return result();
  };
  const end = () => {
    if (!result) {
      // A late call of `run` does nothing. If it threw where nothing awaits it, as in a timer, the process would end.
      result = () => {};
      throw new Error("`around` ended before it called `run`. Return run().");
    }
    return result();
  };

  return tryThen(
    () => around(run),
    end,
    (error) => tryThen(end, throwing(error), throwing(error)),
  );
}

const throwing = (error: unknown) => (): never => {
  throw error;
};

/** Calls `work`, and returns a function that returns or throws its result. */
function resultOf(work: () => unknown): () => unknown {
  try {
    // Converts a thenable to a promise, because each call of a query builder's `then` runs its query again.
    const value = andThen(work(), (ended) => ended);
    // `around` may do something else before it awaits the handler, and an unhandled rejection would end the process.
    void Promise.allSettled([value]);
    return () => value;
  } catch (error) {
    return throwing(error);
  }
}
