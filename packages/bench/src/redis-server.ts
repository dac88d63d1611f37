import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

/** Opens a connection with the options that ioredis has by default, to one of the 16 databases. */
export type Connect = (db?: number) => Promise<Redis>;

/** Said where races are left out, in capitals because a page with fewer races looks whole. */
export const noRedis =
  "LEFT OUT: all that needs Redis, because redis-server is not installed here.";

/**
 * Starts a `redis-server` that nobody else uses, without persistence, and ends it when `use` has
 * settled. Undefined where none is installed.
 */
export async function withRedis<T>(use: (connect: Connect) => Promise<T>): Promise<T | undefined> {
  if (spawnSync("redis-server", ["--version"]).error) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-bench-"));
  const port = await freePort();
  const place = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory];
  const server = spawn("redis-server", [...place, "--save", "", "--appendonly", "no"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(server, "exit");
  const kill = () => void server.kill("SIGKILL");
  // What nobody catches must not leave it behind either.
  process.once("exit", kill);
  const open: Redis[] = [];
  try {
    await isReady(server.stdout);
    return await use(async (db = 0) => {
      const redis = new Redis({ host: "127.0.0.1", port, db, lazyConnect: true });
      open.push(redis);
      await redis.connect();
      return redis;
    });
  } finally {
    for (const redis of open) redis.disconnect();
    process.off("exit", kill);
    kill();
    await exited;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A number out of what the server tells of itself. */
export async function infoOf(redis: Redis, name: string): Promise<number> {
  const line = (await redis.info()).split("\r\n").find((one) => one.startsWith(`${name}:`));
  if (line === undefined) throw new Error(`this Redis says nothing about ${name}`);
  return Number(line.slice(name.length + 1));
}

async function isReady(output: NodeJS.ReadableStream): Promise<void> {
  for await (const line of createInterface(output)) {
    if (line.includes("Ready to accept connections")) {
      // It blocks when nobody reads what it prints.
      output.resume();
      return;
    }
  }
  throw new Error("redis-server has ended before it was ready");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
