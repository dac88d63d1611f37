import type { NodeRedisClient, RedisClient } from "@svc-webhooks/redis";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { createClient, createCluster, createSentinel } from "redis";
import { vi } from "vitest";

/** A client as an application uses it, with its state for tests. */
export interface TestClient {
  readonly client: RedisClient;
  readonly isReady: () => boolean;
  /** Returns the number of scripts that the client was called with. */
  readonly calls: () => number;
  /** Returns the number of pending calls, which await a reply or a connection. */
  readonly pending: () => number;
  /** Sends READONLY on the connections of a cluster, as `useReplicas` does. */
  readonly readReplicas?: () => Promise<unknown>;
  /** Closes the client permanently, even if it never connected. */
  readonly close: () => void;
}

/** A client of one server that does not connect by itself. */
interface UnconnectedClient extends TestClient {
  /** Resolves when the client is connected. */
  readonly connect: () => Promise<unknown>;
}

/** Options that the clients of one server share. */
export interface ClientOptions {
  readonly user?: { readonly username: string; readonly password: string };
  readonly keyPrefix?: string;
  /** Whether commands wait for a connection. Default true. */
  readonly offlineQueue?: boolean;
}

export interface ClientKind {
  readonly name: string;
  /** Whether the client resends pending commands after the connection broke. */
  readonly resends: boolean;
  /** Creates a client with its default options. It may connect later. */
  readonly open: (ports: readonly number[]) => TestClient | Promise<TestClient>;
}

export interface ServerClientKind extends ClientKind {
  readonly open: (ports: readonly number[], options?: ClientOptions) => TestClient;
  readonly make: (port: number, options?: ClientOptions) => UnconnectedClient;
}

const host = "127.0.0.1";

function overIoredis(either: Redis | Cluster) {
  // Both classes have the members used here.
  const client = either as Redis;
  // Without a listener, ioredis prints every failed attempt to connect.
  client.on("error", () => {});
  const evalsha = vi.spyOn(client, "evalsha");
  return {
    client,
    isReady: () => client.status === "ready",
    calls: () => evalsha.mock.calls.length,
    pending: () => Math.max(incomplete(evalsha), client["offlineQueue"].length),
    connect: () => client.connect(),
    close: () => client.disconnect(),
  };
}

type SomeNodeRedis = NodeRedisClient & {
  on(event: "error", listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
};

function overNodeRedis(client: SomeNodeRedis) {
  client.on("error", () => {});
  const evalSha = vi.spyOn(client, "evalSha");
  return {
    client,
    isReady: () => client.isReady === true,
    calls: () => evalSha.mock.calls.length,
    pending: () => incomplete(evalSha),
    connect: () => client.connect(),
    close: () => void (client.isOpen && client.destroy()),
  };
}

const incomplete = ({ mock }: { mock: { settledResults: readonly { type: string }[] } }) =>
  mock.settledResults.filter(({ type }) => type === "incomplete").length;

const serverKind = (
  name: string,
  resends: boolean,
  make: ServerClientKind["make"],
): ServerClientKind => ({
  name,
  resends,
  make,
  open([port = 0], options) {
    const made = make(port, options);
    // This rejects if the server is unreachable; the client then keeps trying.
    made.connect().catch(() => {});
    return made;
  },
});

// Private members make the classes incompatible. For the members used here, the types of 6 fit 5.
const ioredisVersions = [
  { name: "ioredis 6", Redis, Cluster },
  {
    name: "ioredis 5",
    Redis: Redis5 as unknown as typeof Redis,
    Cluster: Cluster5 as unknown as typeof Cluster,
  },
] as const;

/** The clients of one server, at the first of the ports. */
export const clientKinds: readonly ServerClientKind[] = [
  ...ioredisVersions.map((version) =>
    serverKind(
      version.name,
      true,
      (port, { user = {}, keyPrefix = "", offlineQueue = true } = {}) =>
        overIoredis(
          new version.Redis({
            host,
            port,
            lazyConnect: true,
            keyPrefix,
            enableOfflineQueue: offlineQueue,
            ...user,
          }),
        ),
    ),
  ),
  serverKind(
    "node-redis 6",
    false,
    (port, { user = {}, keyPrefix = "", offlineQueue = true } = {}) =>
      overNodeRedis(
        createClient({
          socket: { host, port },
          keyPrefix,
          disableOfflineQueue: !offlineQueue,
          ...user,
        }),
      ),
  ),
];

/** The clients of a cluster. */
export const clusterKinds: readonly ClientKind[] = [
  ...ioredisVersions.map((version) => ({
    name: version.name,
    resends: true,
    open(ports: readonly number[]) {
      const client = new version.Cluster(ports.map((port) => ({ host, port })));
      const readReplicas = () => Promise.all(client.nodes().map((node) => node.readonly()));
      return { ...overIoredis(client), readReplicas };
    },
  })),
  {
    name: "node-redis 6",
    resends: false,
    async open(ports) {
      const rootNodes = ports.map((port) => ({ url: `redis://${host}:${port}` }));
      const client = createCluster({ rootNodes });
      await client.connect();
      const readReplicas = () =>
        Promise.all(client.masters.map(async (node) => node.client?.sendCommand(["READONLY"])));
      return { ...overNodeRedis(client), readReplicas };
    },
  },
];

/** The clients of the server that the Sentinel at the first of the ports knows as `main`. */
export const sentinelKinds: readonly ClientKind[] = [
  ...ioredisVersions.map((version) => ({
    name: version.name,
    resends: true,
    open: ([port = 0]: readonly number[]) =>
      overIoredis(new version.Redis({ sentinels: [{ host, port }], name: "main" })),
  })),
  {
    name: "node-redis 6",
    resends: true,
    async open([port = 0]) {
      const sentinelRootNodes = [{ host, port }];
      const made = overNodeRedis(createSentinel({ name: "main", sentinelRootNodes }));
      await made.connect();
      return made;
    },
  },
];
