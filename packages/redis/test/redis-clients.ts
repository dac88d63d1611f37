import { Redis as Ioredis6 } from "ioredis";
import { Redis as Ioredis5 } from "ioredis5";
import { createClient } from "redis";
import type { RedisClient } from "../src/index.js";

/** A client as its users make it, not connected yet. */
export interface MadeClient {
  readonly client: RedisClient;
  /** Resolves when it is connected. */
  readonly connect: () => Promise<unknown>;
  /** Ends it for good; also where it never was connected. */
  readonly close: () => void;
}

interface User {
  readonly username: string;
  readonly password: string;
}

/** What several clients have, by the same name. */
export interface ClientOptions {
  readonly user?: User;
  readonly keyPrefix?: string;
}

export interface ClientKind {
  readonly name: string;
  readonly make: (port: number, options?: ClientOptions) => MadeClient;
}

const ioredis = (name: string, Redis: typeof Ioredis6): ClientKind => ({
  name,
  make(port, { user = {}, keyPrefix = "" } = {}) {
    const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true, keyPrefix, ...user });
    // Without a listener every failed attempt to connect is printed.
    client.on("error", () => {});
    return { client, connect: () => client.connect(), close: () => client.disconnect() };
  },
});

const nodeRedis: ClientKind = {
  name: "node-redis 6",
  make(port, { user = {}, keyPrefix = "" } = {}) {
    const client = createClient({ socket: { host: "127.0.0.1", port }, keyPrefix, ...user });
    client.on("error", () => {});
    return {
      client,
      connect: () => client.connect(),
      close: () => void (client.isOpen && client.destroy()),
    };
  },
};

export const clientKinds: readonly ClientKind[] = [
  ioredis("ioredis 6", Ioredis6),
  // Two classes of the same shape, as far as it is used here; to TypeScript they are none.
  ioredis("ioredis 5", Ioredis5 as unknown as typeof Ioredis6),
  nodeRedis,
];
