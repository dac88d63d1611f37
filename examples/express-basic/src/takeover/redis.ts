import type { ClaimRequest, DeliveryStore } from "@svc-webhooks/core";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { speed } from "./clock.js";

/** Redis measures leases by its own clock, so they are divided by the speed of the receivers' clock. */
const short = <Request extends ClaimRequest>(request: Request): Request => ({
  ...request,
  leaseMs: request.leaseMs / speed,
  retainMs: 60_000,
});

/** The store of the Redis at this address. A record of the demo is kept for a minute. */
export async function fastRedisStore(url: string): Promise<DeliveryStore> {
  const redis = new Redis(url, { lazyConnect: true });
  redis.on("error", (error) => console.error("Redis:", error.message));
  await redis.connect();
  const store = redisStore(redis, { prefix: "svc-webhooks-demo:" });
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
