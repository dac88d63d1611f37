import type { MaybePromise } from "../store.js";

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === "function";
}

/** Continues with `value`: immediately where it is not a promise. */
export function andThen<T, R>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isPromise(value) ? Promise.resolve(value).then(use) : use(value);
}

/** Continues with what `work` returns, or with what it throws or rejects with: immediately unless it is a promise. */
export function tryThen<T, R>(
  work: () => MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
  failed: (error: unknown) => MaybePromise<R>,
): MaybePromise<R> {
  let value: MaybePromise<T>;
  try {
    value = work();
  } catch (error) {
    return failed(error);
  }
  // Users may return what only looks like a promise: some settle twice, or return nothing.
  return isPromise(value) ? Promise.resolve(value).then(use, failed) : use(value);
}
