import type { Context } from "../command.js";
import { createClosers } from "./closers.js";
import { databaseServer, type DatabaseServer } from "./databases/postgres.js";
import { redisServers, type RedisServers } from "./databases/redis.js";
import type { Stub, Through } from "./environment.js";
import { prepareDatabases } from "./prepare.js";
import type { Watcher } from "./watcher.js";

/** Provides the databases and the Redis servers of each history. */
export interface Services {
  readonly databases: ReadonlyMap<string, DatabaseServer>;
  readonly redis: ReadonlyMap<string, RedisServers>;
  readonly close: () => Promise<void>;
}

export interface ServicesOptions extends Pick<Context, "env" | "signal" | "note"> {
  readonly through: readonly Through[];
  readonly stubs: readonly Stub[];
  /** The command that fills empty databases, which are then used instead of copies. */
  readonly prepare: string | undefined;
  readonly watcher: Watcher;
}

/** Copies the databases, or fills empty ones with `--prepare`, and checks the Redis servers. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { through, prepare, note } = options;
  const closers = createClosers();
  const databases = new Map<string, DatabaseServer>();
  const redis = new Map<string, RedisServers>();
  try {
    for (const service of through.filter(({ kind }) => kind === "postgres")) {
      const server = await databaseServer(service, prepare !== undefined, note);
      closers.add(() => server.close());
      databases.set(service.name, server);
    }
    for (const service of through.filter(({ kind }) => kind === "redis")) {
      const servers = await redisServers(service, options.watcher, options.signal);
      closers.add(() => {
        const text = servers.left();
        if (text !== undefined) note(text);
      });
      redis.set(service.name, servers);
    }
    if (prepare !== undefined) await prepareDatabases({ ...options, prepare, databases, redis });
  } catch (error) {
    await closers.close();
    throw error;
  }
  return { databases, redis, close: closers.close };
}
