import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@svc-webhooks/postgres";
import { migrate as migrateSqlite } from "@svc-webhooks/sqlite";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { Pool } from "pg";
import { onTestFinished } from "vitest";
import { pgBouncer, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { redisServer } from "@svc-webhooks/kit/redis-server";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import type { Site } from "./backend.js";
import { watchStalls } from "./time.js";
import type { Effect, Strike } from "./verdict.js";

/** A server or a file that the receivers use. It is closed when the test ends. */
export interface World {
  /** The receivers' site. Its address leads to the server through `network`. */
  readonly site: Site;
  /** The receivers' connections, unless the world is a file. */
  readonly network?: TcpProxy;
  readonly effects: () => Promise<readonly Effect[]>;
  /** Returns the times for which the machine did not let a process run. Only where they excuse anything. */
  readonly stalls?: () => readonly Strike[];
  /** Returns how often handlers have incremented a counter, which they do after writing the effect. */
  readonly counter?: () => Promise<number>;
  /** Crashes the server, and starts it again. */
  readonly crash?: () => Promise<void>;
}

/** Starts a world with records in Redis and effects in a file. */
export async function redisWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-chaos-"));
  const effectLog = join(folder, "effects.jsonl");
  writeFileSync(effectLog, "");
  const redis = await redisServer();
  const network = await tcpProxy(redis.port);
  // While this process does not run, it forwards nothing.
  const stalls: Strike[] = [];
  const watch = watchStalls(100, (from, to) => {
    stalls.push({ kind: "silence", pid: 0, from, to });
  });
  onTestFinished(async () => {
    clearInterval(watch);
    await network.close();
    await redis.close();
    rmSync(folder, { recursive: true });
  });
  const logged = () =>
    readFileSync(effectLog, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Effect | Strike);
  return {
    site: { kind: "redis", port: network.port, effectLog },
    network,
    effects: async () => logged().filter((line) => "deliveryId" in line),
    stalls: () => [...stalls, ...logged().filter((line) => "kind" in line)],
  };
}

interface PostgresWorldOptions {
  /** Whether effects are written inside `store.transaction`. */
  readonly inTransaction: boolean;
  readonly throughPgBouncer?: boolean;
  /** Whether commits are flushed to disk, which they must be if the server is to be crashed. */
  readonly fsync?: "on" | "off";
}

/** Starts a world with records and effects in PostgreSQL. */
export async function postgresWorld({
  inTransaction,
  throughPgBouncer = false,
  fsync = "off",
}: PostgresWorldOptions): Promise<World> {
  const server = await postgresServer({ fsync });
  onTestFinished(server.close);
  const bouncer = throughPgBouncer ? await pgBouncer(server) : undefined;
  if (bouncer) onTestFinished(bouncer.close);
  const { connectionString, port } = bouncer ?? server;
  const network = await tcpProxy(port);
  onTestFinished(network.close);

  /** Runs `work` on a new connection, because the server may have crashed since the last one was opened. */
  const connected = async <Result>(work: (pool: Pool) => Promise<Result>): Promise<Result> => {
    const pool = new Pool({ connectionString: server.connectionString, max: 1 });
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  };
  await connected(async (pool) => {
    await migrate(pool);
    await pool.query(`
      create table effects (effect jsonb);
      create table counters (id integer primary key, count integer);
      insert into counters select generate_series(0, 999), 0`);
  });

  return {
    site: {
      kind: "postgres",
      inTransaction,
      connectionString: connectionString.replace(`:${port}/`, `:${network.port}/`),
    },
    network,
    effects: () =>
      connected(async (pool) => {
        const { rows } = await pool.query("select effect from effects");
        return (rows as { effect: Effect }[]).map(({ effect }) => effect);
      }),
    counter: () =>
      connected(async (pool) => {
        const { rows } = await pool.query("select sum(count)::integer from counters");
        return (rows[0] as { sum: number }).sum;
      }),
    async crash() {
      await server.crash();
      await server.restart();
    },
  };
}

/** Creates a world with records and effects in a SQLite file. */
export function sqliteWorld({ inTransaction }: Pick<PostgresWorldOptions, "inTransaction">): World {
  const file = sqliteFile();
  const db = openSqlite(file);
  migrateSqlite(db);
  db.exec("create table effects (effect text); create table counter (count integer)");
  db.exec("insert into counter values (0)");
  return {
    site: { kind: "sqlite", file, inTransaction },
    async effects() {
      const rows = db.prepare("select effect from effects").all() as { effect: string }[];
      return rows.map(({ effect }) => JSON.parse(effect) as Effect);
    },
    async counter() {
      return (db.prepare("select count from counter").get() as { count: number }).count;
    },
  };
}
