import type { MaybePromise } from "../store.js";

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  // The types are checked first, because reading `then` of values of many kinds is slow.
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as Promise<T>).then === "function"
  );
}

/** Calls `use` with `value`, synchronously unless `value` is a promise. */
export function andThen<T, R>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isPromise(value) ? Promise.resolve(value).then(use) : use(value);
}

/**
 * Calls `use` with the result of `work`, or `failed` with its error, synchronously unless `work` returns a promise.
 */
export function tryThen<T, R>(
  work: () => MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
  failed: (error: unknown) => MaybePromise<R>,
): MaybePromise<R> {
  let value: MaybePromise<T>;
  let isPending: boolean;
  try {
    value = work();
    // In the `try` block, because reading a user's `then` may throw too.
    isPending = isPromise(value);
  } catch (error) {
    return failed(error);
  }
  // Converted to a promise, because a user's thenable may settle twice, or its `then` may return nothing.
  return isPending ? Promise.resolve(value).then(use, failed) : use(value as T);
}
