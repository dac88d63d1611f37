import type { Clock } from "../clock.js";
import type { DeadlineCall, MaybePromise } from "../store.js";
import { isPromise } from "./maybe-promise.js";

/** Resolves after `ms` milliseconds of the clock. */
export const wait = (clock: Clock, ms: number): Promise<undefined> =>
  new Promise((resolve) => void clock.after(ms, () => resolve(undefined)));

/**
 * The error with which {@link withDeadline} rejects when the deadline has passed and the callee has not set `unsent`.
 */
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

/**
 * Returns the result of `work`. If that is a promise which is pending after `ms` milliseconds, the result rejects with
 * the call's `unsent`, if set, otherwise with a `DeadlineError`. `work` cannot be stopped, only notified through its
 * signal.
 */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  name: string,
  work: (call: DeadlineCall) => MaybePromise<T>,
): MaybePromise<T> {
  const call = new LazySignal();
  const result = work(call);
  if (!isPromise(result)) return result;
  return new Promise((resolve, reject) => {
    const pending = Promise.resolve(result);
    const cancel = clock.after(ms, () => {
      call.abort("deadline");
      reject(call.unsent ?? new DeadlineError(name, ms, pending));
    });
    void pending.then(resolve, reject).then(cancel);
  });
}
