import { WebhookError } from "@svc-webhooks/core";
import { leaver, messageOf } from "./replica.js";
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
  disconnect(reconnect?: boolean): void;
  evalsha(sha1: string, keys: number, ...rest: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...rest: string[]): Promise<unknown>;
  call(command: string, ...rest: string[]): Promise<unknown>;
}

/** What the store uses of node-redis: clients and clusters. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  /** Clusters have it since node-redis 6. */
  readonly isReady?: boolean;
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(source: string, options: NodeRedisScriptOptions): Promise<unknown>;
  configGet?(name: string): Promise<unknown>;
  /** Of clusters. */
  readonly masters?: readonly { readonly client?: NodeRedisNode | undefined }[];
}

/** One connection of node-redis. */
export interface NodeRedisNode {
  sendCommand(words: readonly string[]): Promise<unknown>;
}

export interface NodeRedisScriptOptions {
  keys: string[];
  arguments: string[];
}

export type RedisClient = IoredisClient | NodeRedisClient;

export function connect(client: RedisClient | Connection): Connection {
  // JavaScript may come with anything.
  if (typeof client === "object" && client !== null) {
    if ("run" in client) return client;
    if ("evalSha" in client) return overNodeRedis(client);
    if ("evalsha" in client) return overIoredis(client);
  }
  throw new TypeError("redisStore: this is no client of ioredis or node-redis, and no Connection");
}

const notConnected = (status = "") =>
  new WebhookError("not_sent", `the Redis client is not connected${status}`);

function overIoredis(client: IoredisClient): Connection {
  const ready = async () => {
    // With `lazyConnect` nothing else would ever connect it.
    if (client.status === "wait") await client.connect();
    if (client.status !== "ready") throw notConnected(` (${client.status})`);
  };
  const leaveReplica = leaver(
    client,
    () => client.status === "ready",
    () => client.disconnect(true),
  );
  return {
    async run({ source, sha1 }, keys, args) {
      if (client.status !== "ready") await ready();
      return client
        .evalsha(sha1, keys.length, ...keys, ...args)
        .catch(ifUnknown(() => client.eval(source, keys.length, ...keys, ...args), leaveReplica));
    },
    async setting(name) {
      await ready();
      // `[name, value]`, or `{ [name]: value }` with `replyMapping: "resp3"` of ioredis 6.
      const reply = (await client.call("CONFIG", "GET", name)) as readonly string[];
      return Object.values(reply).at(-1);
    },
  };
}

function overNodeRedis(client: NodeRedisClient): Connection {
  const isReady = () => client.isReady ?? client.isOpen;
  const ready = () => {
    if (!isReady()) throw notConnected();
  };
  const leaveReplica = leaver(client, isReady, () => {
    // The server closes the connection, and the client treats that as a broken one: it connects
    // again. `destroy` and `connect` would lose subscriptions, and open a client that is being closed.
    const leaving = client.masters
      ? // Other connections to a replica of a cluster get MOVED, which the client follows by itself.
        client.masters.map((master) => master.client?.sendCommand(["READWRITE"]))
      : // Sentinel clients leave by themselves.
        "sendCommand" in client && !("getMasterNode" in client)
        ? // Of a single connection, by elimination; parameters differ between the kinds.
          [(client as NodeRedisNode).sendCommand(["QUIT"])]
        : [];
    for (const command of leaving) command?.catch(() => {});
  });
  return {
    async run({ source, sha1 }, keys, args) {
      ready();
      const options = { keys: [...keys], arguments: [...args] };
      return client
        .evalSha(sha1, options)
        .catch(ifUnknown(() => client.eval(source, options), leaveReplica));
    },
    async setting(name) {
      ready();
      if (!client.configGet) throw new Error("a cluster has no setting of its own");
      return ((await client.configGet(name)) as Readonly<Record<string, string>>)[name];
    },
  };
}

/** Scripts go by name, and whole to a server that has not seen them or has forgotten them. */
const ifUnknown =
  (whole: () => Promise<unknown>, leaveReplica: (error: unknown) => never) => (error: unknown) => {
    if (!messageOf(error).startsWith("NOSCRIPT")) return leaveReplica(error);
    return whole().catch(leaveReplica);
  };
