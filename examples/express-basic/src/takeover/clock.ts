import type { Clock } from "@svc-webhooks/core";

/** How many times as fast as real time the receivers' clock runs, so that nobody has to wait for a lease. */
export const speed = 4;

export const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * speed,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs / speed).unref();
    return () => clearTimeout(timer);
  },
};
