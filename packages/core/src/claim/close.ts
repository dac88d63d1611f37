import { DeadlineError, wait, withDeadline } from "../lib/deadline.js";
import { tryThen } from "../lib/maybe-promise.js";
import { firstPauseMs, longestPauseMs } from "../lib/times.js";
import type { Config } from "../setup/config.js";
import type { ClaimResult, MaybePromise, ReleaseRequest } from "../store.js";
import { callStore, type Claim } from "./claim.js";

/**
 * Completes the claim, or releases it `to` a state. If the first call fails, `onError` receives the
 * error and a promise of the retries, which hold no reference to the delivery.
 */
export function closeClaim(
  config: Config,
  claim: Claim,
  to: ReleaseRequest["to"] | undefined,
  onError: (error: unknown, retries: Promise<void>, isCompletion: boolean) => void,
): MaybePromise<void> {
  const call = closing(config, claim, to);
  return tryThen<unknown, void>(
    call,
    () => {},
    (error) => onError(error, retry(config, call, pendingOf(error)), to === undefined),
  );
}

/**
 * Outside `closeClaim`, where V8 would keep `onError`, and with it the delivery, as long as the
 * call.
 */
const closing = (config: Config, claim: Claim, to: ReleaseRequest["to"] | undefined) => () =>
  callStore(config, claim, to ? "release" : "complete", to && { to });

/**
 * Releases a claim whose result was lost: the store may have granted it, but no handler ran. One release
 * is pending at a time, because a store that hangs would execute all of them when it recovers.
 *
 * @param failure the error of the claim; a claim that is granted after its release was executed is
 *   released again
 */
export function releaseUnused(config: Config, claim: Claim, failure: unknown): Promise<void> {
  /** Awaits the result of a call that is still pending after its deadline; throws any other error. */
  const lateResult = <Result>(error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
    const pending = error.pending as Promise<Result>;
    return withDeadline(config.clock, config.leaseMs, "store", () => pending);
  };
  let mayBeGranted = failure instanceof DeadlineError;
  const release = async (): Promise<void> => {
    const released = await tryThen(
      () => callStore(config, claim, "release", { to: "unused" }),
      (result) => result,
      (error) => lateResult<boolean>(error),
    );
    if (released || !mayBeGranted) return;
    mayBeGranted = false;
    await tryThen<ClaimResult, void>(
      () => lateResult(failure),
      ({ status }) => (status === "claimed" ? release() : undefined),
      // It was lost with its connection, and the release was executed after it.
      () => {},
    );
  };
  return release().catch((error) => retry(config, release, pendingOf(error), claim.leaseEndsAt));
}

/**
 * Retries until `call` succeeds or `endsAt` is reached. The growing pauses have jitter, so that
 * receivers do not retry simultaneously. A call that is still pending gets more time first: a store
 * that hangs would execute every call when it recovers.
 */
async function retry(
  { clock, leaseMs }: Config,
  call: () => MaybePromise<unknown>,
  late: Promise<unknown> | undefined,
  endsAt: number = clock.monotonic() + leaseMs,
): Promise<void> {
  let pending = late;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const leftMs = endsAt - clock.monotonic();
    if (leftMs <= 0) return;
    try {
      if (pending) {
        const last = pending;
        await withDeadline(clock, Math.min(longestPauseMs, leftMs), "store", () => last);
        return;
      }
    } catch {
      // The call failed late, or still hangs.
    }
    await wait(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs));
    try {
      await call();
      return;
    } catch (error) {
      // The caller has reported the first failure.
      pending = pendingOf(error);
    }
  }
}

/** The only part of an error that is kept: its stack would hold the delivery. */
const pendingOf = (error: unknown): Promise<unknown> | undefined =>
  error instanceof DeadlineError ? error.pending : undefined;
