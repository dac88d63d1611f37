import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { atEnd } from "./closing.js";

export interface RunningRedis {
  /** The description in printed lines. */
  readonly description: string;
  readonly url: string;
}

/** Connects to the Redis of `REDIS_URL`, or starts one. `closeAll` deletes all keys with the prefix. */
export const openRedis = (prefix: string): Promise<RunningRedis> =>
  process.env.REDIS_URL ? useExisting(process.env.REDIS_URL, prefix) : startOwn();

async function useExisting(url: string, prefix: string): Promise<RunningRedis> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  let reason = "";
  redis.on("error", ({ message }) => (reason = message));
  await redis.connect().catch(() => {
    throw new Error(`Cannot connect to the Redis at REDIS_URL: ${reason}`);
  });
  atEnd(async () => {
    for await (const keys of redis.scanStream({ match: `${prefix}*` })) {
      for (const key of keys as string[]) await redis.del(key);
    }
    redis.disconnect();
  });
  return { description: "the Redis at REDIS_URL", url };
}

const installHint = `This demo needs Redis, and redis-server is not installed. Install it:

  Debian, Ubuntu    sudo apt install redis-server
  macOS             brew install redis

or set REDIS_URL to a running Redis:

  REDIS_URL=redis://localhost:6379 npm start -w examples/express-redis`;

async function startOwn(): Promise<RunningRedis> {
  const folder = mkdtempSync(join(tmpdir(), "express-redis-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  // Unlike a port, a socket in a new folder is always free and private.
  const url = join(folder, "redis.sock");
  const settings = ["--port", "0", "--unixsocket", url, "--save", "", "--dir", folder];
  const child = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child, "spawn").catch(() => {
    throw new Error(installHint);
  });
  const exited = once(child, "exit");
  atEnd(async () => {
    child.kill();
    await exited;
  });
  for await (const line of createInterface(child.stdout)) {
    if (/ready to accept/i.test(line)) break;
  }
  child.stdout.resume();
  return { description: "a Redis started for this demo", url };
}
