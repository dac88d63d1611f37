import type { Clock } from "./clock.js";

/** A value that may come at once: what is synchronous stays so, without a timer or a turn of the loop. */
export type MaybePromise<T> = T | Promise<T>;

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === "function";
}

/** Goes on with `value`: at once where it is there, else when it comes. */
export function andThen<T, R>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isPromise(value) ? Promise.resolve(value).then(use) : use(value);
}

/** Goes on with what `work` answers, or with what it throws or rejects with: at once, or when it comes. */
export function attempt<T, R>(
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
  // Users may return what only looks like a promise: some settle twice, or answer nothing.
  return isPromise(value) ? Promise.resolve(value).then(use, failed) : use(value);
}

/** What a store or a body reader receives with each call. */
export interface DeadlineCall {
  /** Aborted when the call's deadline has passed: its result is no longer awaited. */
  readonly signal: AbortSignal;
}

/** What {@link withDeadline} rejects with. */
export class DeadlineError extends Error {}

/**
 * A signal that is made only for those who look at it: an AbortController costs more than a
 * memory-store claim. Its reason is an Error with a `code`.
 */
export class LazySignal {
  #made: AbortController | undefined;

  get #controller(): AbortController {
    return (this.#made ??= new AbortController());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first reason stays. */
  abort(code: "lease_lost" | "handler_timeout" | "deadline"): void {
    this.#controller.abort(Object.assign(new Error(code), { code }));
  }
}

/**
 * Settles like `work`, or rejects once `ms` have passed. `work` cannot be stopped, only told through
 * its signal; what it still answers goes to `late`.
 */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  what: string,
  work: (call: DeadlineCall) => MaybePromise<T>,
  late?: (result: T) => unknown,
): MaybePromise<T> {
  const call = new LazySignal();
  const result = work(call);
  if (!isPromise(result)) return result;
  return new Promise((resolve, reject) => {
    let expired = false;
    const cancel = clock.after(ms, () => {
      expired = true;
      call.abort("deadline");
      reject(new DeadlineError(`${what} took longer than ${ms} ms`));
    });
    Promise.resolve(result).then(
      (value) => {
        cancel();
        return expired ? late?.(value) : resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
