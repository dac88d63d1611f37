import type { Script } from "./scripts.js";

/**
 * The seam between the store and a client: runs a script on its keys. Rejects at once while nobody
 * is connected; nothing may wait in a queue for a server that is gone.
 */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** Reads a setting of the server; rejects where that is forbidden. */
export type ReadSetting = (name: string) => Promise<string | undefined>;

export interface Connection {
  readonly run: RunScript;
  readonly setting: ReadSetting;
}

/** What the store uses of ioredis 5 and 6: `Redis` (also with Sentinel) and `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  connect(): Promise<unknown>;
  evalsha(sha1: string, keys: number, ...rest: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...rest: string[]): Promise<unknown>;
  call(command: string, ...rest: string[]): Promise<unknown>;
}

/** What the store uses of node-redis: clients and clusters. */
export interface NodeRedisClient {
  readonly isReady: boolean;
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(source: string, options: NodeRedisScriptOptions): Promise<unknown>;
  configGet?(name: string): Promise<unknown>;
}

export interface NodeRedisScriptOptions {
  keys: string[];
  arguments: string[];
}

export type RedisClient = IoredisClient | NodeRedisClient;

export const connect = (client: RedisClient): Connection =>
  "evalSha" in client ? overNodeRedis(client) : overIoredis(client);

function overIoredis(client: IoredisClient): Connection {
  const ready = async () => {
    // With `lazyConnect` nothing else would ever connect it.
    if (client.status === "wait") await client.connect();
    if (client.status !== "ready") throw new Error(`the Redis client is ${client.status}`);
  };
  return {
    async run({ source, sha1 }, keys, args) {
      await ready();
      const rest = [keys.length, ...keys, ...args] as const;
      return whereUnknown(
        () => client.evalsha(sha1, ...(rest as [number, ...string[]])),
        () => client.eval(source, ...(rest as [number, ...string[]])),
      );
    },
    async setting(name) {
      await ready();
      const [, value] = (await client.call("CONFIG", "GET", name)) as (string | undefined)[];
      return value;
    },
  };
}

function overNodeRedis(client: NodeRedisClient): Connection {
  const ready = () => {
    if (!client.isReady) throw new Error("the Redis client is not connected");
  };
  return {
    async run({ source, sha1 }, keys, args) {
      ready();
      const options = { keys: [...keys], arguments: [...args] };
      return whereUnknown(
        () => client.evalSha(sha1, options),
        () => client.eval(source, options),
      );
    },
    async setting(name) {
      ready();
      if (!client.configGet) throw new Error("a cluster has no setting of its own");
      return ((await client.configGet(name)) as Readonly<Record<string, string>>)[name];
    },
  };
}

/** Sends a script by its name, and whole to a server that has not seen it or has forgotten it. */
async function whereUnknown(
  byName: () => Promise<unknown>,
  whole: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await byName();
  } catch (error) {
    if (!String((error as Error | undefined)?.message).startsWith("NOSCRIPT")) throw error;
    return whole();
  }
}
