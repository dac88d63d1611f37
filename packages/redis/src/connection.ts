import { ReceiverConfigError, WebhookError } from "@svc-webhooks/core";
import { leaver, messageOf } from "./replica.js";
import type { Script } from "./scripts.js";

/**
 * Runs a script on its keys: the only call that the store makes to a client. Must reject immediately
 * while the client is not connected; no call may wait in a queue for an unreachable server.
 */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** Reads a setting of the server. Rejects if that is forbidden. */
export type ReadSetting = (name: string) => Promise<string | undefined>;

export interface Connection {
  readonly run: RunScript;
  readonly setting: ReadSetting;
}

/** The members of ioredis 5 and 6 that the store uses: `Redis` (also with Sentinel) and `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  evalsha(sha1: string, keys: number, ...rest: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...rest: string[]): Promise<unknown>;
  call(command: string, ...rest: string[]): Promise<unknown>;
}

/** The members of node-redis 5 and 6 that the store uses: clients and clusters. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  /** In clusters since node-redis 6. */
  readonly isReady?: boolean;
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(source: string, options: NodeRedisScriptOptions): Promise<unknown>;
  configGet?(name: string): Promise<unknown>;
  /** Only in clusters. */
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
  // JavaScript callers may pass anything.
  if (typeof client === "object" && client !== null) {
    if ("run" in client) return client;
    if ("evalSha" in client) return overNodeRedis(client);
    if ("evalsha" in client) return overIoredis(client);
  }
  throw new ReceiverConfigError(
    "invalid_option",
    "client",
    "`client` must be an ioredis client, a node-redis client or a Connection: redisStore(new Redis(url)).",
  );
}

const notConnected = (status = "") =>
  new WebhookError("not_sent", `The Redis client is not connected${status}.`);

function overIoredis(client: IoredisClient): Connection {
  const ready = async () => {
    // With `lazyConnect` nothing else connects the client.
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
    // The server closes the connection, and the client reconnects as after a broken connection. `destroy`
    // and `connect` would lose subscriptions and could reopen a client that is being closed.
    const leaving = client.masters
      ? // In a cluster, other connections to a replica get MOVED, which the client follows by itself.
        client.masters.map((master) => master.client?.sendCommand(["READWRITE"]))
      : // Sentinel clients reconnect by themselves.
        "sendCommand" in client && !("getMasterNode" in client)
        ? // Only a single-node client is left; the parameters of `sendCommand` differ between the kinds.
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
      if (!client.configGet) throw new Error("A node-redis cluster has no configGet.");
      return ((await client.configGet(name)) as Readonly<Record<string, string>>)[name];
    },
  };
}

/** Sends a script in full if the server does not know its hash. */
const ifUnknown =
  (sendInFull: () => Promise<unknown>, leaveReplica: (error: unknown) => never) =>
  (error: unknown) => {
    if (!messageOf(error).startsWith("NOSCRIPT")) return leaveReplica(error);
    return sendInFull().catch(leaveReplica);
  };
