import { Redis } from "ioredis";
import type { RedisServer } from "./redis-server.js";

/** Runs a Redis command on a server, and returns the reply as text. */
export async function redisCommand(
  { port }: Pick<RedisServer, "port">,
  ...words: readonly [string, ...string[]]
): Promise<string> {
  const redis = new Redis(port, "127.0.0.1");
  const [name, ...args] = words;
  try {
    return String(await redis.call(name, ...args));
  } finally {
    redis.disconnect();
  }
}
