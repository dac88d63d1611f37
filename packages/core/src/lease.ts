import { callStore } from "./store-call.js";
import type { Visit } from "./visit.js";

/**
 * Keeps the lease of a running handler alive and looks at the clock for it, with one timer for the
 * three things that can come due: the next extension, the end of the lease, the handler's time.
 * The answer ends the watch; the lease is then left to what `complete` or `release` make of it.
 */
export function watch(
  visit: Visit,
  timeoutAt: number,
  on: { readonly timeout: () => void; readonly leaseLost: () => void },
): () => void {
  const { clock, leaseMs, maxRunMs, isolated } = visit.config;
  const pauseMs = leaseMs / 3;
  const claimedAt = visit.leaseEndsAt - leaseMs;
  let extendAt = claimedAt + pauseMs;
  let leased = visit.facts.dedupe === "verified";
  let cancel: () => void;

  const lose = () => {
    leased = false;
    on.leaseLost();
  };

  const extend = async () => {
    const sentAt = clock.monotonic();
    const extended = await callStore(visit, "extend");
    if (!leased) return;
    if (extended) visit.leaseEndsAt = sentAt + leaseMs;
    else lose();
  };

  const look = () => {
    const now = clock.monotonic();
    if (leased && now >= visit.leaseEndsAt) lose();
    if (now >= timeoutAt) {
      timeoutAt = Infinity;
      on.timeout();
    }
    if (leased && now >= extendAt) {
      extendAt = now + pauseMs > claimedAt + maxRunMs ? Infinity : now + pauseMs;
      isolated(extend);
    }
    rest();
  };

  const rest = () => {
    const next = leased ? Math.min(timeoutAt, extendAt, visit.leaseEndsAt) : timeoutAt;
    // Runtimes fire up to a millisecond early by this clock: never wait for less than one.
    const delayMs = Math.max(Math.ceil(next - clock.monotonic()), 1);
    if (next < Infinity) cancel = clock.after(delayMs, look);
  };

  rest();
  return () => {
    leased = false;
    cancel();
  };
}
