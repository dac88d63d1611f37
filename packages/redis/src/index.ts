export { redisStore } from "./redis-store.js";
export type { RedisStoreOptions } from "./redis-store.js";
export type {
  Connection,
  IoredisClient,
  NodeRedisClient,
  NodeRedisNode,
  NodeRedisScriptOptions,
  ReadSetting,
  RedisClient,
  RunScript,
} from "./connection.js";
export type { Script } from "./scripts.js";
