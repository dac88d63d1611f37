export { redisStore } from "./redis-store.js";
export type { RedisStore, RedisStoreOptions } from "./redis-store.js";
export type { RedisClient } from "./connect.js";
export type { Connection, ReadSetting, RunScript } from "./connection.js";
export type { IoredisClient, IoredisNode } from "./ioredis.js";
export type { NodeRedisClient, NodeRedisNode, NodeRedisScriptOptions } from "./node-redis.js";
export type { Script } from "./scripts.js";
