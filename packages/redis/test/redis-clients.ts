import { Redis as Ioredis6 } from "ioredis";
import { Redis as Ioredis5 } from "ioredis5";
import { createClient } from "redis";
import type { RedisClient } from "../src/index.js";

/** A client as users create it, not yet connected. */
export interface MadeClient {
  readonly client: RedisClient;
  /** Resolves when the client is connected. */
  readonly connect: () => Promise<unknown>;
  /** Closes the client permanently, even if it never connected. */
  readonly close: () => void;
}

interface User {
  readonly username: string;
  readonly password: string;
}

/** Options that all kinds of clients share. */
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
    // Without a listener, ioredis prints every failed attempt to connect.
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
  // The classes have the same shape as far as it is used here, but their types differ.
  ioredis("ioredis 5", Ioredis5 as unknown as typeof Ioredis6),
  nodeRedis,
];
