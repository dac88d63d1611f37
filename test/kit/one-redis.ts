import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { redisServer, type RedisServer } from "./redis-server.js";

/** Starts one server for all tests of a `describe`, and empties it before each. Calls `given` once it is ready. */
export function oneRedis(given: (client: Redis, server: RedisServer) => void): void {
  let server: RedisServer | undefined;
  let client: Redis | undefined;
  beforeAll(async () => {
    server = await redisServer();
    client = new Redis(server.port, "127.0.0.1");
    given(client, server);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.close();
  });
  beforeEach(() => client?.flushall());
}
