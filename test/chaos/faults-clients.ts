import type { NodeRedisClient, RedisClient } from "@svc-webhooks/redis";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { createClient, createCluster } from "redis";
import { vi } from "vitest";

/** A client as an application has it, with what tests want to know of it. */
export interface TestClient {
  readonly client: RedisClient;
  readonly isReady: () => boolean;
  /** How often it was given a script to run. */
  readonly calls: () => number;
  /** How many of those wait in it, for an answer or for a connection. */
  readonly waiting: () => number;
  /** Of a cluster: its connections are such that replicas serve them, as with `useReplicas`. */
  readonly readReplicas?: () => Promise<unknown>;
  readonly close: () => void;
}

export interface ClientKind {
  readonly name: string;
  /** Sends again by itself what was under way when the connection broke. */
  readonly resends: boolean;
  /** With the options it has by itself; it connects in its own time. */
  readonly open: (ports: readonly number[]) => TestClient | Promise<TestClient>;
}

function overIoredis(either: Redis | Cluster): TestClient {
  // What is used here they have both.
  const client = either as Redis;
  client.on("error", () => {});
  const evalsha = vi.spyOn(client, "evalsha");
  return {
    client,
    isReady: () => client.status === "ready",
    calls: () => evalsha.mock.calls.length,
    waiting: () => Math.max(incomplete(evalsha), client["offlineQueue"].length),
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
    waiting: () => incomplete(evalSha),
    close: () => client.destroy(),
  };
}

const incomplete = ({ mock }: { mock: { settledResults: readonly { type: string }[] } }) =>
  mock.settledResults.filter(({ type }) => type === "incomplete").length;

const host = "127.0.0.1";
const urlOf = (port: number) => `redis://${host}:${port}`;

// Classes with private members are types of their own; for what is used here those of 6 are true of 5.
const ioredisVersions = [
  { name: "ioredis 6", Redis, Cluster },
  {
    name: "ioredis 5",
    Redis: Redis5 as unknown as typeof Redis,
    Cluster: Cluster5 as unknown as typeof Cluster,
  },
] as const;

/** Clients of one server: the first of the ports. */
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
      // Fails where it is closed before it has ever connected.
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
