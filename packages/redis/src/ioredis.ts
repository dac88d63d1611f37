import type { Connection } from "./connection.js";
import { leaver } from "./health/replica.js";
import { ifUnknown } from "./scripts.js";
import { watchSilence, type Link } from "./health/silence.js";

/**
 * The members of an ioredis 5 or 6 client that the store uses. The client is a `Redis`, with or without Sentinel, or a
 * `Cluster`.
 */
export interface IoredisClient extends IoredisNode {
  connect(): Promise<unknown>;
  evalsha(sha1: string, keys: number, ...rest: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...rest: string[]): Promise<unknown>;
  /** Returns the nodes that have this role. Present only in clusters. */
  nodes?(role: "master"): readonly IoredisNode[];
  /** The connection's stream. Absent in clusters. */
  readonly stream?: { readonly writable: boolean };
}

/** A single ioredis connection. */
export interface IoredisNode {
  readonly status: string;
  disconnect(reconnect?: boolean): void;
  call(command: string, ...rest: string[]): Promise<unknown>;
}

export function overIoredis(client: IoredisClient): Connection {
  const silence = watchSilence(() => (client.nodes?.("master") ?? [client]).map(linkOf));
  // Checks the stream too: while a connection is being replaced, the status stays `ready` until the old connection
  // closes, and calls would wait for the new one.
  const isReady = () => client.status === "ready" && client.stream?.writable !== false;
  const ready = async () => {
    // With `lazyConnect`, the first call connects the client, because nothing else does.
    if (client.status === "wait") await client.connect();
    if (isReady()) return;
    throw silence.notConnected(client.status === "ready" ? "" : ` (${client.status})`);
  };
  const leaveReplica = leaver(client, isReady, () => client.disconnect(true));
  /** The first key of each pending call. Only calls of `peek` have several keys. */
  const pending = new Set<string>();
  const watch = (key: string, reply: Promise<unknown>, onError: (error: unknown) => unknown) => {
    pending.add(key);
    return silence.over(reply, onError, () => pending.delete(key));
  };
  return {
    run({ source, sha1 }, keys, args) {
      const [key = ""] = keys;
      const inFull = () =>
        watch(key, client.eval(source, keys.length, ...keys, ...args), leaveReplica);
      const send = () =>
        watch(
          key,
          client.evalsha(sha1, keys.length, ...keys, ...args),
          ifUnknown(inFull, leaveReplica),
        );
      // While a call with this key is pending, the next one is sent even if the client is not ready: ioredis sends
      // pending calls again once it has reconnected, so a release is queued behind its claim. If the release were
      // rejected instead, the claim could be granted later and would keep its lease.
      return isReady() || pending.has(key) ? send() : ready().then(send);
    },
    async setting(name) {
      await ready();
      // The reply is `[name, value]`, or `{ [name]: value }` with `replyMapping: "resp3"` of ioredis 6.
      const reply = (await client.call("CONFIG", "GET", name)) as readonly string[];
      return Object.values(reply).at(-1);
    },
  };
}

const linkOf = (node: IoredisNode): Link => ({
  id: node,
  // `connect` is the status of an open connection whose server has not replied yet.
  isOpen: () => node.status === "ready" || node.status === "connect",
  ask: () => node.call("TIME"),
  // ioredis ends the stream. If the stream does not close within the `disconnectTimeout`, ioredis destroys it.
  reconnect: () => node.disconnect(true),
});
