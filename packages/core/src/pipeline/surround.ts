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

  const run = (work: () => unknown) => {
    if (!result) {
      // For a handler that calls `run` itself.
      result = throwing(new Error("`run` was called while it was running."));
      result = resultOf(work);
    }
    return result();
  };
  const end = () =>
    run(throwing(new Error("`around` ended without a call of `run`. Return run().")));

  return tryThen(
    () => around(() => run(start)),
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
