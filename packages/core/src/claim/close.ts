import type { Config } from "../config.js";
import { attempt, wait, withDeadline, type MaybePromise } from "../promise.js";
import type { ClaimResult, ReleaseRequest } from "../store.js";
import { callStore, type Claim } from "./claim.js";

const firstPauseMs = 500;
const longestPauseMs = 8_000;

/**
 * Completes the claim, or releases it `to` a state. When the first call fails, `onError` gets the
 * error and a promise of the retries, which hold nothing of the delivery.
 */
export function closeClaim(
  config: Config,
  claim: Claim,
  to: ReleaseRequest["to"] | undefined,
  onError: (error: unknown, retries: Promise<void>) => void,
): MaybePromise<void> {
  const call = () => callStore(config, claim, to ? "release" : "complete", to && { to });
  return attempt<unknown, void>(
    call,
    () => {},
    (error) => onError(error, retry(config, call)),
  );
}

/**
 * Releases a claim whose reply was lost: the store may have granted it, and no handler ran under it.
 * Never two releases at once: a store that hangs would execute all of them when it wakes.
 *
 * @param claiming the claim, where it is still pending: if it is granted after the release was
 *   executed, it is released again
 */
export function releaseUnused(
  config: Config,
  claim: Claim,
  claiming?: Promise<ClaimResult>,
): Promise<void> {
  const { clock, leaseMs } = config;
  let granted = claiming;
  const release = async (): Promise<void> => {
    let pending: Promise<boolean> | undefined;
    const released = await attempt(
      () => callStore(config, claim, "release", { to: "unused" }, (call) => (pending = call)),
      (done) => done,
      (error) => {
        if (!pending) throw error;
        const late = pending;
        return withDeadline(clock, leaseMs, "store.release", () => late);
      },
    );
    if (released || !granted) return;
    const claimed = granted;
    const { status } = await withDeadline(clock, leaseMs, "store.claim", () => claimed);
    granted = undefined;
    if (status === "claimed") await release();
  };
  return retry(config, release, 0);
}

/** Tries until it succeeds or a lease has passed, with growing pauses, so that receivers do not return in step. */
async function retry(
  { clock, leaseMs }: Config,
  call: () => MaybePromise<unknown>,
  firstMs: number = firstPauseMs,
): Promise<void> {
  const endsAt = clock.monotonic() + leaseMs;
  let pauseMs = firstMs;
  for (;;) {
    const leftMs = endsAt - clock.monotonic();
    if (leftMs <= 0) return;
    if (pauseMs > 0) await wait(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs));
    try {
      await call();
      return;
    } catch {
      // The first failure was reported.
      pauseMs = Math.min(pauseMs * 2 || firstPauseMs, longestPauseMs);
    }
  }
}
