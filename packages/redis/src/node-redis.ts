import type { Connection } from "./connection.js";
import { leaver } from "./health/replica.js";
import { ifUnknown } from "./scripts.js";
import { watchSilence, type Link } from "./health/silence.js";

/**
 * The members of a node-redis 5 or 6 client that the store uses. The client is a single client, a cluster or a Sentinel
 * client.
 */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  /** Whether the client is ready. Clusters have this property only since node-redis 6. */
  readonly isReady?: boolean;
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(source: string, options: NodeRedisScriptOptions): Promise<unknown>;
  configGet?(name: string): Promise<unknown>;
  /** The primaries. Present only in clusters. */
  readonly masters?: readonly { readonly client?: NodeRedisNode | undefined }[];
}

/** A single node-redis connection. */
export interface NodeRedisNode {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  sendCommand(words: readonly string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "connect" | "ready" | "reconnecting", listener: () => void): unknown;
}

/** The members that only Sentinel clients have. */
interface NodeRedisSentinel extends NodeRedisClient {
  sendCommand(isReadonly: boolean, words: readonly string[]): Promise<unknown>;
  /** Calls the function with the connection to the primary. */
  _execute(isReadonly: boolean, work: (node: NodeRedisNode) => Promise<unknown>): Promise<unknown>;
}

export interface NodeRedisScriptOptions {
  keys: string[];
  arguments: string[];
}

export function overNodeRedis(client: NodeRedisClient): Connection {
  const isReady = () => client.isReady ?? client.isOpen;
  const silence = watchSilence(linksOf(client, isReady));
  const leaveReplica = leaver(client, isReady, () => {
    // QUIT makes the server close the connection, and the client reconnects as if the connection had broken. Unlike
    // `destroy`, QUIT does not reject pending commands.
    const leaving = client.masters
      ? // After READWRITE, a cluster's replica replies to later calls with MOVED, which the client follows itself.
        client.masters.map((master) => master.client?.sendCommand(["READWRITE"]))
      : // Sentinel clients need no command, because they reconnect by themselves.
        isNode(client)
        ? [client.sendCommand(["QUIT"])]
        : [];
    for (const command of leaving) command?.catch(() => {});
  });
  return {
    run({ source, sha1 }, keys, args) {
      if (!isReady()) return Promise.reject(silence.notConnected());
      const options = { keys: [...keys], arguments: [...args] };
      const inFull = () => silence.over(client.eval(source, options), leaveReplica);
      return silence.over(client.evalSha(sha1, options), ifUnknown(inFull, leaveReplica));
    },
    async setting(name) {
      if (!isReady()) throw silence.notConnected();
      if (!client.configGet)
        throw new Error("A node-redis cluster client does not have configGet.");
      return ((await client.configGet(name)) as Readonly<Record<string, string>>)[name];
    },
  };
}

const isSentinel = (client: object): client is NodeRedisSentinel => "getMasterNode" in client;

/** Returns whether this is a single client. In clusters and Sentinel clients, `sendCommand` has other parameters. */
const isNode = (client: NodeRedisClient): client is NodeRedisClient & NodeRedisNode =>
  "sendCommand" in client && !client.masters && !isSentinel(client);

function linksOf(client: NodeRedisClient, isReady: () => boolean): () => readonly Link[] {
  if (isSentinel(client)) {
    const link = {
      id: client,
      isOpen: isReady,
      ask: () => client.sendCommand(false, ["TIME"]),
      reconnect() {
        // After the connection is destroyed, the client finds the primary again and sends pending commands to it.
        client["_execute"](false, async (node) => node.destroy()).catch(() => {});
      },
    };
    return () => [link];
  }
  // The link is created now, because it learns the connection's state from events and must not miss any.
  if (isNode(client)) linkOf(client);
  return () =>
    isNode(client)
      ? [linkOf(client)]
      : (client.masters ?? []).flatMap(({ client: node }) => (node ? linkOf(node) : []));
}

/** The link of each connection. Stores that share a client share its links. */
const links = new WeakMap<NodeRedisNode, Link>();

function linkOf(node: NodeRedisNode): Link {
  const known = links.get(node);
  if (known) return known;
  /** Whether the server has accepted the connection but has not replied yet. */
  let isGreeting = false;
  node.on("connect", () => (isGreeting = true));
  node.on("ready", () => (isGreeting = false));
  node.on("reconnecting", () => (isGreeting = false));
  const connect = () => {
    // The error is ignored, because the application may have reconnected the client in the meantime.
    node.connect().catch(() => {});
  };
  const link = {
    id: node,
    isOpen: () => node.isOpen && (node.isReady || isGreeting),
    ask: () => node.sendCommand(["TIME"]),
    reconnect() {
      const wasReady = node.isReady;
      isGreeting = false;
      node.destroy();
      if (wasReady) connect();
      // Lets the destroyed connection attempt finish first. Otherwise it would continue alongside the new one.
      else setImmediate(connect);
    },
  };
  links.set(node, link);
  return link;
}
