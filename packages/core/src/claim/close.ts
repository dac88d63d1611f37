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
    (error) => onError(error, retry(config, call), to === undefined),
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
  return release().catch(() => retry(config, release, claim.leaseEndsAt));
}

/** Tries until it succeeds or it is `endsAt`, with growing pauses, so that receivers do not return in step. */
async function retry(
  { clock, leaseMs }: Config,
  call: () => MaybePromise<unknown>,
  endsAt: number = clock.monotonic() + leaseMs,
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const leftMs = endsAt - clock.monotonic();
    if (leftMs <= 0) return;
    await wait(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs));
    try {
      await call();
      return;
    } catch {
      // The first failure was reported.
    }
  }
}
