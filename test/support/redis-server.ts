import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
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

async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** Its bus is on the port + 10,000: both below those that the system gives to clients. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = 11_000 + Math.floor(Math.random() * 11_000);
    try {
      await freePort(port + 10_000);
      return await freePort(port);
    } catch {
      // Taken.
    }
  }
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

const ask = (given: readonly string[]) => promisify(execFile)("redis-cli", given);

const cluster = async ({ port }: RedisServer, ...command: readonly (string | number)[]) =>
  (await ask(["-p", String(port), "CLUSTER", ...command.map(String)])).stdout;

const inCluster = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
const clusterOptions = ["--save", "", "--repl-diskless-sync-delay", "0", ...inCluster];

/** Three masters, each with a third of the slots; resolves when each of them serves. */
export async function redisCluster(): Promise<readonly RedisServer[]> {
  const servers = [
    await redisServer(clusterOptions, await clusterPort()),
    await redisServer(clusterOptions, await clusterPort()),
    await redisServer(clusterOptions, await clusterPort()),
  ];
  // `redis-cli --cluster create` does the same and takes 2 to 7 s for it.
  for (const [index, server] of servers.entries()) {
    const last = index === 2 ? 16_383 : index * 5_461 + 5_460;
    await cluster(server, "ADDSLOTSRANGE", index * 5_461, last);
    await cluster(server, "SET-CONFIG-EPOCH", index + 1);
  }
  for (const server of servers) {
    for (const { port } of servers) {
      if (port !== server.port) await cluster(server, "MEET", "127.0.0.1", port);
    }
  }
  const serves = async (server: RedisServer) =>
    /cluster_state:ok[^]*cluster_slots_assigned:16384/.test(await cluster(server, "INFO"));
  if (await happens(async () => (await Promise.all(servers.map(serves))).every(Boolean))) {
    return servers;
  }
  await Promise.all(servers.map(({ close }) => close()));
  throw new Error("the cluster does not get ready");
}

/** A replica of the first of a cluster's masters, which all of them would elect in its place. */
export async function clusterReplica(masters: readonly RedisServer[]): Promise<RedisServer> {
  const replica = await redisServer(clusterOptions, await clusterPort());
  const [own = "", master = ""] = await Promise.all(
    [replica, ...masters].map(async (server) => (await cluster(server, "MYID")).trim()),
  );
  for (const { port } of masters) await cluster(replica, "MEET", "127.0.0.1", port);
  const isReplica = async () => {
    // Refused until it has heard of the master.
    if (!(await cluster(replica, "REPLICATE", master)).startsWith("OK")) return false;
    const { stdout } = await ask(["-p", String(replica.port), "INFO", "replication"]);
    if (!stdout.includes("master_link_status:up")) return false;
    const lists = await Promise.all(masters.map((server) => cluster(server, "NODES")));
    return lists.every((list) => new RegExp(`^${own} .* slave ${master} `, "m").test(list));
  };
  if (await happens(isReplica)) return replica;
  await replica.close();
  throw new Error("the replica does not get ready");
}

/** Whether it is so within 20 s. */
async function happens(condition: () => Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + 20_000; performance.now() < end; await setTimeout(50)) {
    if (await condition()) return true;
  }
  return false;
}
