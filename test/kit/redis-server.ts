import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freePort } from "./free-port.js";
import { describeRequiring } from "./requiring.js";
import { until } from "./until.js";

export interface RedisServer {
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends it with SIGKILL, and resolves when it has exited. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port and folder, with the data that it persisted. */
  readonly restart: () => Promise<RedisServer>;
  /** Ends it and removes its folder. */
  readonly close: () => Promise<void>;
}

/** `describe` for tests that need a `redis-server`. */
export const describeWithRedis: ReturnType<typeof describeRequiring> = describeRequiring(
  "redis-server",
  spawnSync("redis-server", ["--version"]).status === 0,
);

/** The cluster bus uses the port + 10,000. Both are below the system's ephemeral ports. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = 11_000 + Math.floor(Math.random() * 11_000);
    try {
      await freePort(port + 10_000);
      return await freePort(port);
    } catch {
      // In use.
    }
  }
}

/** Starts a real server. By default, it does not persist. */
export async function redisServer(
  options: readonly string[] = ["--save", "", "--appendonly", "no"],
  port?: number,
  directory = mkdtempSync(join(tmpdir(), "svc-webhooks-redis-")),
): Promise<RedisServer> {
  const usedPort = port ?? (await freePort());
  const address = ["--port", String(usedPort), "--bind", "127.0.0.1", "--dir", directory];
  const child = spawn("redis-server", [...address, ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const ready = async () => {
    for await (const line of createInterface(child.stdout)) {
      if (line.includes("Ready to accept connections")) return;
    }
    throw new Error("redis-server exited before it was ready.");
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

const redisCli = (args: readonly string[]) => promisify(execFile)("redis-cli", args);

const cluster = async ({ port }: RedisServer, ...command: readonly (string | number)[]) =>
  (await redisCli(["-p", String(port), "CLUSTER", ...command.map(String)])).stdout;

const inCluster = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
const clusterOptions = ["--save", "", "--repl-diskless-sync-delay", "0", ...inCluster];

/** Three masters with a third of the slots each. Resolves when all of them serve. */
export async function redisCluster(): Promise<readonly RedisServer[]> {
  const servers: RedisServer[] = [];
  while (servers.length < 3) servers.push(await redisServer(clusterOptions, await clusterPort()));
  // `redis-cli --cluster create` does the same in 2 to 7 s.
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
  const allServe = async () => (await Promise.all(servers.map(serves))).every(Boolean);
  await readyOrClosed(servers, allServe);
  return servers;
}

/** Closes the servers if the condition is not true within 20 s. */
async function readyOrClosed(
  servers: readonly RedisServer[],
  isReady: () => Promise<boolean>,
): Promise<void> {
  try {
    await until(isReady, "the cluster is ready", 20_000);
  } catch (error) {
    await Promise.all(servers.map(({ close }) => close()));
    throw error;
  }
}

/** A replica of a cluster's first master that all masters would elect in its place. */
export async function clusterReplica(masters: readonly RedisServer[]): Promise<RedisServer> {
  const replica = await redisServer(clusterOptions, await clusterPort());
  const [own = "", master = ""] = await Promise.all(
    [replica, ...masters].map(async (server) => (await cluster(server, "MYID")).trim()),
  );
  for (const { port } of masters) await cluster(replica, "MEET", "127.0.0.1", port);
  const isReplica = async () => {
    // Refused until gossip has reached the replica.
    if (!(await cluster(replica, "REPLICATE", master)).startsWith("OK")) return false;
    const { stdout } = await redisCli(["-p", String(replica.port), "INFO", "replication"]);
    if (!stdout.includes("master_link_status:up")) return false;
    const lists = await Promise.all(masters.map((server) => cluster(server, "NODES")));
    return lists.every((list) => new RegExp(`^${own} .* slave ${master} `, "m").test(list));
  };
  await readyOrClosed([replica], isReplica);
  return replica;
}
