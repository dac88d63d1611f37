import { DeadlineError, wait, withDeadline } from "../lib/deadline.js";
import { tryThen } from "../lib/maybe-promise.js";
import { firstPauseMs, longestPauseMs } from "../lib/times.js";
import type { Config } from "../setup/config.js";
import type { ClaimResult, MaybePromise, ReleaseRequest } from "../store.js";
import { callStore, type Claim } from "./claim.js";

/**
 * Completes the claim, or releases it `to` a state. When the first call fails, `onError` gets the
 * error and a promise of the retries, which hold nothing of the delivery.
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

/** Separate from `closeClaim`: there V8 would keep `onError`, and so the delivery, as long as the call. */
const closing = (config: Config, claim: Claim, to: ReleaseRequest["to"] | undefined) => () =>
  callStore(config, claim, to ? "release" : "complete", to && { to });

/**
 * Releases a claim whose reply was lost: the store may have granted it, and no handler ran under it.
 * Never two releases at once: a store that hangs would execute all of them when it wakes.
 *
 * @param failure what the claim failed with; a claim that is granted after its release was executed
 *   is released again
 */
export function releaseUnused(config: Config, claim: Claim, failure: unknown): Promise<void> {
  /** The result of a call that is still pending after its deadline; throws any other failure. */
  const late = <Result>(error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
    const pending = error.pending as Promise<Result>;
    return withDeadline(config.clock, config.leaseMs, "store", () => pending);
  };
  let mayBeGranted = failure instanceof DeadlineError;
  const release = async (): Promise<void> => {
    const released = await tryThen(
      () => callStore(config, claim, "release", { to: "unused" }),
      (done) => done,
      (error) => late<boolean>(error),
    );
    if (released || !mayBeGranted) return;
    mayBeGranted = false;
    await tryThen<ClaimResult, void>(
      () => late(failure),
      ({ status }) => (status === "claimed" ? release() : undefined),
      // It was lost with its connection, and the release was executed after it.
      () => {},
    );
  };
  return release().catch((error) => retry(config, release, pendingOf(error), claim.leaseEndsAt));
}

/**
 * Tries again until it succeeds or it is `endsAt`, with growing pauses, so that receivers do not
 * return in step. A call that is still pending gets more time first: a store that hangs would execute
 * every call when it wakes.
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
      // It failed late, or still hangs.
    }
    await wait(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs));
    try {
      await call();
      return;
    } catch (error) {
      // The first failure was reported.
      pending = pendingOf(error);
    }
  }
}

/** Nothing else of an error is kept: its stack would hold the delivery. */
const pendingOf = (error: unknown): Promise<unknown> | undefined =>
  error instanceof DeadlineError ? error.pending : undefined;
