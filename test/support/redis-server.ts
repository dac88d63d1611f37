import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe } from "vitest";

export interface RedisServer {
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends it as a crash would, and resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** The same server again: same port, same folder, what it has persisted. */
  readonly restart: () => Promise<RedisServer>;
  /** Ends it and removes its folder. */
  readonly close: () => Promise<void>;
}

const isInstalled = spawnSync("redis-server", ["--version"]).status === 0;

if (!isInstalled && process.env["CI"]) {
  throw new Error("redis-server is not installed, and in CI nothing may be skipped");
}

/** `describe` for what needs a `redis-server`: on a machine without one it is skipped, by name. */
export const describeWithRedis = (name: string, body: () => void): void => {
  const shown = isInstalled ? name : `${name} (SKIPPED: redis-server is not installed)`;
  onThisMachine(shown, body);
};

const onThisMachine = isInstalled ? describe : describe.skip;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** Starts a real server, without persistence unless `options` say otherwise. */
export async function redisServer(
  options: readonly string[] = ["--save", "", "--appendonly", "no"],
  port?: number,
  directory = mkdtempSync(join(tmpdir(), "svc-webhooks-redis-")),
): Promise<RedisServer> {
  const usedPort = port ?? (await freePort());
  const place = ["--port", String(usedPort), "--bind", "127.0.0.1", "--dir", directory];
  const child = spawn("redis-server", [...place, ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const ready = async () => {
    for await (const line of createInterface(child.stdout)) {
      if (line.includes("Ready to accept connections")) return;
    }
    throw new Error("redis-server has ended before it was ready");
  };
  await ready();
  child.stdout.resume();
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  return {
    port: usedPort,
    process: child,
    kill,
    async restart() {
      await kill();
      return redisServer(options, usedPort, directory);
    },
    async close() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Three masters, each with a third of the slots. */
export async function redisCluster(): Promise<readonly RedisServer[]> {
  const options = ["--save", "", "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
  const start = async (): Promise<RedisServer> => {
    // The bus listens on the port + 10,000.
    let port = await freePort();
    while (port > 55_535) port = await freePort();
    return redisServer(options, port);
  };
  const servers = [await start(), await start(), await start()];
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
  const replicas = ["--cluster-replicas", "0", "--cluster-yes"];
  execFileSync("redis-cli", ["--cluster", "create", ...nodes, ...replicas], { stdio: "ignore" });
  return servers;
}
