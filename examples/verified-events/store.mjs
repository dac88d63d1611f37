import { Redis } from "ioredis";
import { redisStore } from "svc-webhooks/redis";

const redis = new Redis(process.env.REDIS_URL, { lazyConnect: true });
// Until the client is connected, events end as `store_unavailable`.
await redis.connect();

export const store = redisStore(redis);
