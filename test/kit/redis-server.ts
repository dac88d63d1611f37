import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { assertFree, freePort } from "./free-port.js";
import { describeRequiring } from "./requiring.js";
import { NotStartedError } from "./setup-errors.js";
import { tcpProxy, type TcpProxy } from "./tcp-proxy.js";
import { until } from "./until.js";

export interface RedisServer {
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends the server with SIGKILL. Resolves when it has exited. */
  readonly kill: () => Promise<void>;
  /** Starts the server again on the same port and folder, with the data that it persisted. */
  readonly restart: () => Promise<RedisServer>;
  /** Ends the server and removes its folder. */
  readonly close: () => Promise<void>;
}

/** Returns the version of the installed `redis-server`, such as `7.0.15`, or undefined. */
export const redisVersion = (): string | undefined =>
  /v=(\S+)/.exec(String(spawnSync("redis-server", ["--version"]).stdout))?.[1];

/** `describe` for tests that need a `redis-server`. */
export const describeWithRedis: ReturnType<typeof describeRequiring> = describeRequiring(
  "redis-server",
  redisVersion() !== undefined,
);

/** Returns a port for a cluster's node. The cluster bus uses the port + 10,000, which is free too. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    try {
      await assertFree(port + 10_000);
      return port;
    } catch {
      // The port of the bus is in use.
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
    throw new NotStartedError("redis-server exited before it was ready.");
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
const isInStep = async ({ port }: RedisServer) =>
  (await redisCli(["-p", String(port), "INFO", "replication"])).stdout.includes(
    "master_link_status:up",
  );

/**
 * Demotes a primary in favor of a new server with its data and options, as a planned failover does: clients keep their
 * connections to the old one, which is a replica then. Resolves to the new primary.
 */
export async function failOver(
  primary: RedisServer,
  options: readonly string[],
): Promise<RedisServer> {
  const source = ["--replicaof", "127.0.0.1", String(primary.port)];
  const next = await redisServer([...options, "--repl-diskless-sync-delay", "0", ...source]);
  await until(() => isInStep(next), "the replica is in step");
  // Pauses writes until the replica has all of them. The primary refuses until it knows that the replica is in step.
  const command = ["-p", String(primary.port), "FAILOVER", "TO", "127.0.0.1", String(next.port)];
  const isAccepted = async () => (await redisCli(command)).stdout.startsWith("OK");
  await until(isAccepted, "the primary starts the failover");
  const isPrimary = async () =>
    (await redisCli(["-p", String(next.port), "ROLE"])).stdout.startsWith("master");
  await until(isPrimary, "the replica is the primary");
  return next;
}

const clusterOptions = ["--save", "", "--repl-diskless-sync-delay", "0", ...inCluster];

/** Starts three masters with a third of the slots each. Resolves when all of them serve. */
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

/** Starts a proxy for each node. Clients learn its port from the cluster. */
export async function clusterProxies(
  servers: readonly RedisServer[],
): Promise<readonly TcpProxy[]> {
  const proxies = await Promise.all(servers.map(({ port }) => tcpProxy(port)));
  for (const [index, { port }] of servers.entries()) {
    const announced = String(proxies[index]?.port);
    await redisCli(["-p", String(port), "CONFIG", "SET", "cluster-announce-port", announced]);
  }
  const isAnnounced = async (server: RedisServer) => {
    const slots = await cluster(server, "SLOTS");
    return proxies.every(({ port }) => slots.includes(`\n${port}\n`));
  };
  await until(
    async () => (await Promise.all(servers.map(isAnnounced))).every(Boolean),
    "the nodes announce their proxies",
  );
  return proxies;
}

/** Closes the servers if the condition is not true within 20 s. */
async function readyOrClosed(
  servers: readonly Pick<RedisServer, "close">[],
  isReady: () => Promise<boolean>,
): Promise<void> {
  try {
    await until(isReady, "the servers are ready");
  } catch (error) {
    await Promise.all(servers.map(({ close }) => close()));
    throw error;
  }
}

/** Starts a replica of a cluster's first master that all masters would elect in its place. */
export async function clusterReplica(masters: readonly RedisServer[]): Promise<RedisServer> {
  const replica = await redisServer(clusterOptions, await clusterPort());
  const [own = "", master = ""] = await Promise.all(
    [replica, ...masters].map(async (server) => (await cluster(server, "MYID")).trim()),
  );
  for (const { port } of masters) await cluster(replica, "MEET", "127.0.0.1", port);
  const isReplica = async () => {
    // The command is refused until gossip has reached the replica.
    if (!(await cluster(replica, "REPLICATE", master)).startsWith("OK")) return false;
    if (!(await isInStep(replica))) return false;
    const lists = await Promise.all(masters.map((server) => cluster(server, "NODES")));
    return lists.every((list) => new RegExp(`^${own} .* slave ${master} `, "m").test(list));
  };
  await readyOrClosed([replica], isReplica);
  return replica;
}

export interface Sentinel {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  /** The proxy between the primary and everything else. */
  readonly proxy: TcpProxy;
  /** The port for clients, which know the primary by the name `main`. */
  readonly port: number;
  /** Kills the primary, after which the Sentinel promotes the replica. */
  readonly killPrimary: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Starts a primary with a replica, and a Sentinel. The Sentinel replaces the primary if that is silent for a
 * minute, which a busy machine does not cause, or 0.5 s after `killPrimary`.
 */
export async function redisSentinel(): Promise<Sentinel> {
  const options = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
  const primary = await redisServer(options);
  const proxy = await tcpProxy(primary.port);
  // The replica uses the address that the Sentinel has, which would otherwise correct it.
  const source = ["--replicaof", "127.0.0.1", String(proxy.port)];
  const replica = await redisServer([...options, ...source]);
  // The Sentinel checks only every 10 s.
  await until(() => isInStep(replica), "the replica is in step");
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-sentinel-"));
  const file = join(directory, "sentinel.conf");
  const port = await freePort();
  writeFileSync(
    file,
    [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${directory}`,
      `sentinel monitor main 127.0.0.1 ${proxy.port} 1`,
      "sentinel down-after-milliseconds main 60000",
      "sentinel failover-timeout main 2000",
    ].join("\n"),
  );
  // `redis-sentinel` is in a separate package.
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  const exited = once(child, "exit");
  const command = (...words: readonly string[]) =>
    redisCli(["-p", String(port), "SENTINEL", ...words]);
  const close = async () => {
    child.kill("SIGKILL");
    await exited;
    await proxy.close();
    await Promise.all([primary.close(), replica.close()]);
    rmSync(directory, { recursive: true, force: true });
  };
  await readyOrClosed([{ close }], async () => {
    const { stdout } = await command("REPLICAS", "main").catch(() => ({ stdout: "" }));
    // The Sentinel would not promote the replica earlier.
    return /\nmaster-link-status\nok\n/.test(stdout);
  });
  const killPrimary = async () => {
    await primary.kill();
    await command("SET", "main", "down-after-milliseconds", "500");
  };
  return { primary, replica, proxy, port, killPrimary, close };
}
