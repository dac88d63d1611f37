import type { ClaimRequest, Clock, DeliveryStore } from "@svc-webhooks/core";
import { speed } from "./time.js";

/** A clock whose timers and monotonic time run `speed` times as fast as real time. `now` returns the real time. */
export const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * speed,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs / speed).unref();
    return () => clearTimeout(timer);
  },
};

/** Divides lease and retention times by `speed`, because servers measure them by their own clock, in real time. */
export function fastStore(store: DeliveryStore): DeliveryStore {
  const short = <Request extends ClaimRequest>(request: Request): Request => ({
    ...request,
    leaseMs: request.leaseMs / speed,
    retainMs: request.retainMs / speed,
  });
  return {
    ...store,
    async claim(key, request, call) {
      const result = await store.claim(key, short(request), call);
      return result.status === "busy"
        ? { ...result, leaseLeftMs: result.leaseLeftMs * speed }
        : result;
    },
    complete: (key, request, call) => store.complete(key, short(request), call),
    release: (key, request, call) => store.release(key, short(request), call),
    extend: (key, request, call) => store.extend(key, short(request), call),
  };
}
