import type { Clock } from "svc-webhooks";

/**
 * The factor by which the receivers' clock is faster than real time, so that the demo need not wait long for a
 * lease.
 */
export const speed = 4;

export const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * speed,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs / speed).unref();
    return () => clearTimeout(timer);
  },
};
