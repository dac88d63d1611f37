import type { Clock } from "../clock.js";
import type { DeadlineCall, MaybePromise } from "../store.js";
import { isPromise } from "./maybe-promise.js";

/** Resolves after `ms` of the clock. */
export const wait = (clock: Clock, ms: number): Promise<undefined> =>
  new Promise((resolve) => void clock.after(ms, () => resolve(undefined)));

/** What {@link withDeadline} rejects with. */
export class DeadlineError extends Error {
  readonly #pending: Promise<unknown>;

  constructor(what: string, ms: number, pending: Promise<unknown>) {
    super(`${what} took longer than ${ms} ms`);
    this.#pending = pending;
  }

  /** What is no longer awaited; it may still settle. */
  get pending(): Promise<unknown> {
    return this.#pending;
  }
}

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
 * Settles like `work`, or rejects with a `DeadlineError` once `ms` have passed. `work` cannot be
 * stopped, only notified through its signal.
 */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  what: string,
  work: (call: DeadlineCall) => MaybePromise<T>,
): MaybePromise<T> {
  const call = new LazySignal();
  const result = work(call);
  if (!isPromise(result)) return result;
  return new Promise((resolve, reject) => {
    const pending = Promise.resolve(result);
    const cancel = clock.after(ms, () => {
      call.abort("deadline");
      reject(new DeadlineError(what, ms, pending));
    });
    pending.then(resolve, reject);
    pending.then(cancel, cancel);
  });
}
