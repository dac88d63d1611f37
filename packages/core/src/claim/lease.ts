import type { Config } from "../setup/config.js";
import { callStore, type Claim } from "./claim.js";

/**
 * Keeps the lease of a running handler alive, with one timer for the three things that can come due:
 * the next extension, the end of the lease, the handler's time. A lease that has ended is extended
 * all the same: until another receiver claims the record, that wins it back, and nobody else can
 * start. The caller stops it when the handler has settled, and notes the loss of the lease.
 */
export function keepLease(
  config: Config,
  claim: Claim,
  onLost: () => void,
  timeoutAt: number,
  onTimeout: () => void,
): () => void {
  const { clock, leaseMs, maxRunMs, onInternalError } = config;
  const pauseMs = leaseMs / 3;
  const claimedAt = claim.leaseEndsAt - leaseMs;
  // Without a claim (`onStoreError: "process"`) there is nothing to extend.
  let extendAt = claim.held ? claimedAt + pauseMs : Infinity;
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
      extendAt = now + pauseMs > claimedAt + maxRunMs ? Infinity : now + pauseMs;
      extend().catch(onInternalError);
    }
    schedule();
  };

  const schedule = () => {
    const next = Math.min(timeoutAt, extendAt, claim.held ? claim.leaseEndsAt : Infinity);
    // Runtimes fire up to a millisecond early by this clock: never wait for less than one.
    const delayMs = Math.max(Math.ceil(next - clock.monotonic()), 1);
    if (next < Infinity) cancel = clock.after(delayMs, tick);
  };

  schedule();
  return () => cancel?.();
}
