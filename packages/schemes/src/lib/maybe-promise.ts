import type { MaybePromise } from "@svc-webhooks/core";

/**
 * Calls `use` with `value` or, if that is a promise, with its result. Checks for `then`, because edge runtimes have
 * several `Promise` classes.
 */
export const andThen = <T, R>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
): MaybePromise<R> =>
  typeof (value as Promise<T> | undefined)?.then === "function"
    ? (value as Promise<T>).then(use)
    : use(value as T);
