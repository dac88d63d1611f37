import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { atEnd } from "./closing.js";

export interface RunningRedis {
  /** For people. */
  readonly what: string;
  readonly url: string;
}

/** The Redis of `REDIS_URL`, or one of the story's own. At the end nothing is left under the prefix. */
export const openRedis = (prefix: string): Promise<RunningRedis> =>
  process.env.REDIS_URL ? given(process.env.REDIS_URL, prefix) : started();

async function given(url: string, prefix: string): Promise<RunningRedis> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  let reason = "";
  redis.on("error", ({ message }) => (reason = message));
  await redis.connect().catch(() => {
    throw new Error(`No connection to the Redis of REDIS_URL: ${reason}`);
  });
  atEnd(async () => {
    for await (const keys of redis.scanStream({ match: `${prefix}*` })) {
      for (const key of keys as string[]) await redis.del(key);
    }
    redis.disconnect();
  });
  return { what: "the Redis of REDIS_URL", url };
}

const howToGetOne = `This needs a Redis, and redis-server is not installed. Install it:

  Debian, Ubuntu    sudo apt install redis-server
  macOS             brew install redis

or say where there is one:

  REDIS_URL=redis://localhost:6379 npm start -w examples/express-redis`;

async function started(): Promise<RunningRedis> {
  const folder = mkdtempSync(join(tmpdir(), "express-redis-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  // Unlike a port, a socket is always free and nobody else's.
  const url = join(folder, "redis.sock");
  const settings = ["--port", "0", "--unixsocket", url, "--save", "", "--dir", folder];
  const child = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child, "spawn").catch(() => {
    throw new Error(howToGetOne);
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
  return { what: "a redis-server that was started for this", url };
}
