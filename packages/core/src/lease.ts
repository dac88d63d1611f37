import { callStore } from "./store-call.js";
import type { Visit } from "./visit.js";

function lose(visit: Visit): void {
  visit.leased = false;
  visit.warn("lease_lost");
  visit.context.abort("lease_lost");
}

/** Notices that the lease has ended. */
export function checkLease(visit: Visit): void {
  if (visit.leased && visit.config.clock.monotonic() >= visit.leaseEndsAt) lose(visit);
}

/**
 * Keeps the lease of a running handler alive and looks at the clock for it, with one timer for the
 * three things that can come due: the next extension, the end of the lease, the handler's time.
 * The answer ends the watch; the lease is then left to what `complete` or `release` make of it.
 */
export function watch(visit: Visit, timeoutAt: number, timeout: () => void): () => void {
  const { clock, leaseMs, maxRunMs, onInternalError } = visit.config;
  const pauseMs = leaseMs / 3;
  const claimedAt = visit.leaseEndsAt - leaseMs;
  let extendAt = claimedAt + pauseMs;
  let cancel: () => void;

  const extend = async () => {
    const sentAt = clock.monotonic();
    const extended = await callStore(visit, "extend");
    if (!visit.leased) return;
    if (extended) visit.leaseEndsAt = sentAt + leaseMs;
    else lose(visit);
  };

  const look = () => {
    const now = clock.monotonic();
    checkLease(visit);
    if (now >= timeoutAt) {
      timeoutAt = Infinity;
      timeout();
    }
    if (visit.leased && now >= extendAt) {
      extendAt = now + pauseMs > claimedAt + maxRunMs ? Infinity : now + pauseMs;
      extend().catch(onInternalError);
    }
    rest();
  };

  const rest = () => {
    const next = visit.leased ? Math.min(timeoutAt, extendAt, visit.leaseEndsAt) : timeoutAt;
    // Runtimes fire up to a millisecond early by this clock: never wait for less than one.
    const delayMs = Math.max(Math.ceil(next - clock.monotonic()), 1);
    if (next < Infinity) cancel = clock.after(delayMs, look);
  };

  rest();
  return () => cancel();
}
