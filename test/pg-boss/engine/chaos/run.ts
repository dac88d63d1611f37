import { fileURLToPath } from "node:url";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { migrate } from "@svc-webhooks/postgres";
import { postgresServer } from "@svc-webhooks/kit/postgres-server";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { Pool } from "pg";
import {
  runChaos as run,
  type Effect,
  type Load,
  type Result,
} from "../../../faults/inbox/chaos.js";
import type { Settings as Role } from "../../../faults/inbox/chaos.js";
import { bundled } from "../../../faults/processes/child.js";
import { bossOf } from "../boss.js";

/** The settings of one process. */
export interface Settings extends Role {
  readonly connectionString: string;
  readonly queue: string;
  readonly inOrder: boolean;
  readonly inTransaction: boolean;
}

interface BossLoad extends Load {
  readonly inOrder: boolean;
  /** The number of acknowledged events between crashes of the database, or silent deaths of all connections. */
  readonly strikeEvery: number;
  /** Whether effects are written in `store.transaction`. Default true. */
  readonly inTransaction?: boolean | undefined;
}

/** Runs chaos on pg-boss, while the database crashes and connections die silently. */
export async function runChaos(load: BossLoad): Promise<Result> {
  const { inOrder, strikeEvery, inTransaction = true } = load;
  const database = await postgresServer({ fsync: "on" });
  const { connectionString } = database;
  const proxy = await tcpProxy(database.port);
  const pool = new Pool({ connectionString, connectionTimeoutMillis: 5_000 });
  pool.on("error", () => {});
  const boss = bossOf(connectionString, { connectionTimeoutMillis: 10_000 });
  await boss.start();
  await migrate(pool);
  await pool.query(`create table effects
    (id bigint generated always as identity, delivery text, key text,
     at timestamptz default clock_timestamp())`);
  await pool.query("create table counters (id int primary key, count int default 0)");
  await pool.query("insert into counters select generate_series(0, 99)");
  const queue = "chaos";
  const options = { queue, retry: { limit: 1_000, mostMs: 2_000 } };
  const inbox = pgBossInbox(boss, { ...options, ...(inOrder && { partitionBy: () => "" }) });
  await inbox.setup();

  return run(load, {
    script: await bundled(fileURLToPath(new URL("process.ts", import.meta.url))),
    settings: {
      connectionString: connectionString.replace(/:\d+\//, `:${proxy.port}/`),
      queue,
      inOrder,
      inTransaction,
    },
    admin: inbox.admin,
    harm: {
      every: strikeEvery,
      async strike(count) {
        if (count % 3 === 0) {
          proxy.abandon();
          return "silences";
        }
        await database.crash();
        await database.restart();
        return "crashes of the database";
      },
    },
    async effects() {
      const { rows } = await pool.query<Effect>(
        "select delivery, key, extract(epoch from at) * 1000 as at from effects order by id",
      );
      return rows;
    },
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
      await proxy.close();
      await database.close();
    },
  });
}
