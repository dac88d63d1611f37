import { andThen, tryThen } from "../lib/maybe-promise.js";
import type { MaybePromise } from "../store.js";

/**
 * Calls `around` with a function that calls `start`, which runs the handler or stores the delivery: at most once, and
 * never after `around` has ended. The result settles once both have settled, and succeeds only if both do. Otherwise, a
 * missing `return` would acknowledge an event before it is handled or stored.
 */
export function surround(
  start: () => unknown,
  around: (run: () => unknown) => unknown,
): MaybePromise<unknown> {
  let result: (() => unknown) | undefined;

  const run = () => {
    if (!result) {
      // For a handler that calls `run` itself. Creates the error only then, because its stack is expensive.
      result = () => {
        throw new Error("`run` was called while it was running.");
      };
      result = resultOf(start);
    }
    return result();
  };
  const end = () => {
    if (!result) {
      // A late call of `run` does nothing: in a timer or a limiter that nothing awaits, an error would end the process.
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
    // Makes a promise of any thenable, because a query builder's query starts again with each call of its `then`.
    const value = andThen(work(), (ended) => ended);
    // `around` may do something else before it awaits the handler, and an unhandled rejection would end the process.
    void Promise.allSettled([value]);
    return () => value;
  } catch (error) {
    return throwing(error);
  }
}
