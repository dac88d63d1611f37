import { DeadlineError, pause, withDeadline } from "../lib/deadline.js";
import { tryThen } from "../lib/maybe-promise.js";
import { firstPauseMs, longestPauseMs } from "../lib/times.js";
import type { Config } from "../setup/config.js";
import type { ClaimResult, MaybePromise } from "../store.js";
import { callClose, type Claim, type ClosedTo } from "./store-call.js";

/**
 * Retries the completion of a claim, or its release `to` a state, after the first call failed with `failure`. The
 * retries hold no reference to the delivery.
 */
export const closeLater = (
  config: Config,
  claim: Claim,
  to: ClosedTo,
  failure: unknown,
): Promise<void> => retry(config, () => callClose(config, claim, to), pendingOf(failure));

/**
 * Releases a claim whose result was lost: the store may have granted it, but no handler ran. One release is pending
 * at a time, because a store that hangs would execute every pending release when it recovers.
 *
 * @param failure the error of the claim call. If that call grants the claim later, after the release, the claim is
 *   released again
 */
export function releaseUnused(config: Config, claim: Claim, failure: unknown): Promise<void> {
  /** The call that requested the claim, while the store may still grant it. */
  let claiming = pendingOf(failure);
  const release = async (): Promise<void> => {
    const released = await tryThen<unknown, unknown>(
      () => callClose(config, claim, "unused"),
      (result) => result,
      (error) => {
        const releasing = pendingOf(error);
        if (!releasing) throw error;
        return settledWithin(config, config.leaseMs, releasing);
      },
    );
    // If nothing was released, the claim call may still be on its way to the store.
    if (released || !claiming) return;
    const lateClaim = claiming;
    claiming = undefined;
    await tryThen<unknown, void>(
      () => settledWithin(config, config.leaseMs, lateClaim),
      (result) => ((result as ClaimResult).status === "claimed" ? release() : undefined),
      // The claim call failed late, or is still pending after one lease, so it is not known whether the store granted
      // the claim. If it did so after the release, the record stays claimed until its lease ends.
      () => {},
    );
  };
  return release().catch((error) => retry(config, release, pendingOf(error), claim.leaseEndsAt));
}

/**
 * Retries until `call` succeeds, or gives up when the monotonic clock reaches `endsAt` (default: one lease from now).
 * The growing pauses have jitter, so that receivers do not retry simultaneously. Before it repeats a call that is still
 * pending, it gives that call more time, because a store that hangs would execute both when it recovers.
 */
async function retry(
  config: Config,
  call: () => MaybePromise<unknown>,
  late: Promise<unknown> | undefined,
  endsAt: number = config.clock.monotonic() + config.leaseMs,
): Promise<void> {
  const { clock } = config;
  let pending = late;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const leftMs = endsAt - clock.monotonic();
    if (leftMs <= 0) return;
    try {
      if (pending) {
        await settledWithin(config, Math.min(longestPauseMs, leftMs), pending);
        return;
      }
    } catch {
      // The call failed late, or still hangs, so it is repeated.
    }
    await pause(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs));
    try {
      await call();
      return;
    } catch (error) {
      // This error is not reported, because the caller has already reported the first one.
      pending = pendingOf(error);
    }
  }
}

const settledWithin = ({ clock }: Config, ms: number, call: Promise<unknown>) =>
  withDeadline(clock, ms, "store", () => call);

/**
 * Returns the call that missed its deadline but may still settle, if `error` reports one. Only the call is kept,
 * because the error's stack would keep the delivery in memory.
 */
const pendingOf = (error: unknown): Promise<unknown> | undefined =>
  error instanceof DeadlineError ? error.pending : undefined;
