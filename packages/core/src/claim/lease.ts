import type { Config } from "../setup/config.js";
import { callStore, type Claim } from "./store-call.js";

/**
 * Keeps the lease of a running handler alive until `maxRunMs`, with one timer for three deadlines: the next extension,
 * the end of the lease and the handler's timeout. The first extensions after 60 s and 5 min, and the last extension,
 * call `onLong`. A lease that has ended is still extended: unless another receiver has claimed the record, this regains
 * the lease, so that no other run can start. `onLost` must record the loss. The caller calls the returned function when
 * the handler has settled.
 */
export function keepLease(
  config: Config,
  claim: Claim,
  onLost: () => void,
  timeoutAt: number,
  onTimeout: () => void,
  onLong: (message: string) => void,
): () => void {
  const { clock, leaseMs, maxRunMs, onInternalError } = config;
  const pauseMs = leaseMs / 3;
  const claimedAt = claim.leaseEndsAt - leaseMs;
  // A run without a claim (`onStoreError: "process"`) has no lease to extend.
  let extendAt = claim.held ? claimedAt + pauseMs : Infinity;
  let longAtMs = 60_000;
  let cancel: (() => void) | undefined;

  const extend = async () => {
    const sentAt = clock.monotonic();
    if (await callStore(config, claim, "extend")) {
      claim.leaseEndsAt = sentAt + leaseMs;
    } else {
      extendAt = Infinity;
      onLost();
    }
  };

  const tick = () => {
    const now = clock.monotonic();
    if (now >= claim.leaseEndsAt) onLost();
    if (now >= timeoutAt) {
      timeoutAt = Infinity;
      onTimeout();
    }
    if (now >= extendAt) {
      const runMs = now - claimedAt;
      const isLast = runMs + pauseMs > maxRunMs;
      extendAt = isLast ? Infinity : now + pauseMs;
      if (isLast || runMs >= longAtMs) {
        longAtMs = runMs < 300_000 ? 300_000 : Infinity;
        onLong(`${Math.floor(runMs / 1000)} s so far${isLast ? "; last renewal (maxRunMs)" : ""}`);
      }
      extend().catch((error) => onInternalError(error, "extend"));
    }
    schedule();
  };

  const schedule = () => {
    const next = Math.min(timeoutAt, extendAt, claim.held ? claim.leaseEndsAt : Infinity);
    // A timer may fire up to 1 ms early by this clock. `tick` then schedules it again, with a delay of at least 1 ms.
    const delayMs = Math.max(Math.ceil(next - clock.monotonic()), 1);
    if (next < Infinity) cancel = clock.after(delayMs, tick);
  };

  schedule();
  return () => cancel?.();
}
