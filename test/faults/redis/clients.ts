import type { NodeRedisClient, RedisClient } from "@svc-webhooks/redis";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { createClient, createCluster } from "redis";
import { vi } from "vitest";

/** A client as an application uses it, with its state for tests. */
export interface TestClient {
  readonly client: RedisClient;
  readonly isReady: () => boolean;
  /** The number of scripts that it was called with. */
  readonly calls: () => number;
  /** The number of pending calls, which await a reply or a connection. */
  readonly pending: () => number;
  /** For a cluster: sends READONLY on its connections, as `useReplicas` does. */
  readonly readReplicas?: () => Promise<unknown>;
  readonly close: () => void;
}

export interface ClientKind {
  readonly name: string;
  /** Resends pending commands after the connection broke. */
  readonly resends: boolean;
  /** Creates a client with its default options. It may connect later. */
  readonly open: (ports: readonly number[]) => TestClient | Promise<TestClient>;
}

function overIoredis(either: Redis | Cluster): TestClient {
  // Both classes have the members used here.
  const client = either as Redis;
  client.on("error", () => {});
  const evalsha = vi.spyOn(client, "evalsha");
  return {
    client,
    isReady: () => client.status === "ready",
    calls: () => evalsha.mock.calls.length,
    pending: () => Math.max(incomplete(evalsha), client["offlineQueue"].length),
    close: () => client.disconnect(),
  };
}

type SomeNodeRedis = NodeRedisClient & {
  on(event: "error", listener: () => void): unknown;
  destroy(): void;
};

function overNodeRedis(client: SomeNodeRedis): TestClient {
  client.on("error", () => {});
  const evalSha = vi.spyOn(client, "evalSha");
  return {
    client,
    isReady: () => client.isReady === true,
    calls: () => evalSha.mock.calls.length,
    pending: () => incomplete(evalSha),
    close: () => client.destroy(),
  };
}

const incomplete = ({ mock }: { mock: { settledResults: readonly { type: string }[] } }) =>
  mock.settledResults.filter(({ type }) => type === "incomplete").length;

const host = "127.0.0.1";
const urlOf = (port: number) => `redis://${host}:${port}`;

// Private members make the classes incompatible. For the members used here, the types of 6 fit 5.
const ioredisVersions = [
  { name: "ioredis 6", Redis, Cluster },
  {
    name: "ioredis 5",
    Redis: Redis5 as unknown as typeof Redis,
    Cluster: Cluster5 as unknown as typeof Cluster,
  },
] as const;

/** Clients of one server, at the first of the ports. */
export const clientKinds: readonly ClientKind[] = [
  ...ioredisVersions.map((version) => ({
    name: version.name,
    resends: true,
    open: ([port = 0]: readonly number[]) => overIoredis(new version.Redis(port, host)),
  })),
  {
    name: "node-redis",
    resends: false,
    open([port = 0]) {
      const client = createClient({ url: urlOf(port) });
      // Rejects if the client is closed before it has connected.
      client.connect().catch(() => {});
      return overNodeRedis(client);
    },
  },
];

/** Clients of a cluster. */
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
    name: "node-redis",
    resends: false,
    async open(ports) {
      const client = createCluster({ rootNodes: ports.map((port) => ({ url: urlOf(port) })) });
      await client.connect();
      const readReplicas = () =>
        Promise.all(client.masters.map(async (node) => node.client?.sendCommand(["READONLY"])));
      return { ...overNodeRedis(client), readReplicas };
    },
  },
];
