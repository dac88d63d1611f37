import type { Clock } from "../clock.js";
import type { DeadlineCall, MaybePromise } from "../store.js";
import { isPromise } from "./maybe-promise.js";

/** Resolves after `ms` milliseconds of the clock. */
export const pause = (clock: Clock, ms: number): Promise<undefined> =>
  new Promise((resolve) => void clock.after(ms, () => resolve(undefined)));

/** The error of work that missed its deadline, unless the callee has set `unsent`. */
export class DeadlineError extends Error {
  readonly #pending: Promise<unknown>;

  constructor(name: string, ms: number, pending: Promise<unknown>) {
    super(`${name} took longer than ${ms} ms`);
    this.#pending = pending;
  }

  /** The work's promise, which may still settle. */
  get pending(): Promise<unknown> {
    return this.#pending;
  }
}

/**
 * A signal that is created on first use: an AbortController costs more than a claim in the memory store. The reason of
 * its abort is an Error with a `code`.
 */
export class LazySignal implements DeadlineCall {
  declare unsent?: Error | undefined;
  #created: AbortController | undefined;

  get #controller(): AbortController {
    return (this.#created ??= new AbortController());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the signal. Only the first call sets the reason. */
  abort(code: "lease_lost" | "handler_timeout" | "deadline"): void {
    this.#controller.abort(Object.assign(new Error(code), { code }));
  }
}

/** Receives the value of a promise or, if `isError`, its error. */
export type Settled = (isError: boolean, result: unknown) => void;

/**
 * Calls `settled` once: with the value or the error of `promise`, or after `ms` milliseconds with the call's `unsent`,
 * if set, otherwise with a `DeadlineError`. From then on, `settled` is no longer referenced, even while the promise is
 * pending. The work cannot be stopped, only notified through the signal of `call`.
 */
export function settleWithin(
  clock: Clock,
  ms: number,
  name: string,
  call: LazySignal,
  promise: Promise<unknown>,
  settled: Settled,
): void {
  // Converted to a promise, because a user's thenable may settle twice, or its `then` may return nothing.
  const pending = Promise.resolve(promise);
  // Removed by the first call, so that a promise that never settles does not keep the delivery in memory.
  let waiter: Settled | undefined = settled;
  const settle: Settled = (isError, result) => {
    const receiver = waiter;
    waiter = undefined;
    cancel();
    receiver?.(isError, result);
  };
  const cancel = clock.after(ms, () => {
    // Aborts before `unsent` is read, because a listener of the signal may set it.
    call.abort("deadline");
    settle(true, call.unsent ?? new DeadlineError(name, ms, pending));
  });
  void pending.then(
    (value) => settle(false, value),
    (error: unknown) => settle(true, error),
  );
}

/** Returns the result of `work`. If that is a promise, the result settles as {@link settleWithin} describes. */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  name: string,
  work: (call: DeadlineCall) => MaybePromise<T>,
): MaybePromise<T> {
  const call = new LazySignal();
  const result = work(call);
  return isPromise(result) ? promiseWithin(clock, ms, name, call, result) : result;
}

const promiseWithin = <T>(
  clock: Clock,
  ms: number,
  name: string,
  call: LazySignal,
  result: Promise<T>,
): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    settleWithin(clock, ms, name, call, result, (isError, settled) => {
      (isError ? reject : resolve)(settled as T);
    });
  });
