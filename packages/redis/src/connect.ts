import { assertValid } from "@svc-webhooks/core/adapter";
import type { Connection } from "./connection.js";
import { overIoredis, type IoredisClient } from "./ioredis.js";
import { overNodeRedis, type NodeRedisClient } from "./node-redis.js";

export type RedisClient = IoredisClient | NodeRedisClient;

export function connect(client: RedisClient | Connection): Connection {
  const connection = connectionOf(client);
  assertValid(
    connection,
    "client",
    "`client` must be an ioredis client, a node-redis client or a Connection: redisStore(new Redis(url)).",
  );
  return connection;
}

function connectionOf(client: RedisClient | Connection): Connection | undefined {
  // JavaScript callers may pass anything, and `in` throws for primitives.
  if (typeof client !== "object" || client === null) return undefined;
  if ("run" in client) return client;
  // Checks a state property too: a transaction, such as the result of `client.multi()`, has the commands but no state.
  if ("evalSha" in client && "isOpen" in client) return overNodeRedis(client);
  if ("evalsha" in client && "status" in client) return overIoredis(client);
  return undefined;
}
