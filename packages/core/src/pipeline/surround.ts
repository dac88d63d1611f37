import { andThen, tryThen } from "../lib/maybe-promise.js";
import type { MaybePromise } from "../store.js";

/**
 * Calls `start`, which runs the handler or stores the delivery, inside `around`: at most once, and never after `around`
 * has ended. The result settles when both have, and is a success only if both are: otherwise a missing `return` would
 * acknowledge an event before it is handled or stored.
 */
export function surround(
  start: () => unknown,
  around: (run: () => unknown) => unknown,
): MaybePromise<unknown> {
  let result: (() => unknown) | undefined;

  const run = () => {
    if (!result) {
      // For a handler that calls `run` itself. The stack of an error costs more than the rest of this function.
      result = () => {
        throw new Error("`run` was called while it was running.");
      };
      result = resultOf(start);
    }
    return result();
  };
  const end = () => {
    if (!result) {
      // A late call, from a timer or a limiter that nothing awaits, would end the process if it threw.
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
    // A promise of the value, because a query of a query builder starts again with each call of its `then`.
    const value = andThen(work(), (ended) => ended);
    // `around` may do something else before it awaits the handler, whose rejection would end the process.
    void Promise.allSettled([value]);
    return () => value;
  } catch (error) {
    return throwing(error);
  }
}
