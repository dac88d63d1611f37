import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { DeliveryContext, DeliveryStore } from "@svc-webhooks/core";
import type { Pool } from "pg";
import { now, watchStalls } from "./time.js";
import type { Effect, Strike } from "./verdict.js";

/** The location of the receivers' records and the handlers' effects. */
export type Site =
  | { readonly kind: "redis"; readonly port: number; readonly effectLog: string }
  | {
      readonly kind: "postgres";
      readonly connectionString: string;
      /** Whether effects are written inside `store.transaction`. */
      readonly inTransaction: boolean;
    }
  | { readonly kind: "sqlite"; readonly file: string; readonly inTransaction: boolean };

/** A receiver's connection to its site. */
export interface Backend {
  readonly store: DeliveryStore;
  /** Writes a run's effect, and then pauses for `pauseMs` before the run's last step. */
  readonly apply: (context: DeliveryContext, pauseMs: number) => Promise<void>;
}

/** Opens the backend of a site. It loads only that one, because a process that was killed must be back soon. */
export function backendOf(site: Site): Promise<Backend> {
  switch (site.kind) {
    case "redis":
      return redisBackend(site);
    case "postgres":
      return postgresBackend(site);
    case "sqlite":
      return sqliteBackend(site);
  }
}

const effectOf = ({ deliveryId, run = 0, fence = 0 }: DeliveryContext): Effect => ({
  deliveryId,
  run,
  fence,
  pid: process.pid,
  at: now(),
});

async function redisBackend({
  port,
  effectLog,
}: Extract<Site, { kind: "redis" }>): Promise<Backend> {
  const [{ redisStore }, { Redis }] = await Promise.all([
    import("@svc-webhooks/redis"),
    import("ioredis"),
  ]);
  // A single write with O_APPEND keeps the lines of different processes from interleaving.
  const append = (line: Effect | Strike) => appendFileSync(effectLog, `${JSON.stringify(line)}\n`);
  // What a busy machine does to a process is the same as a freeze.
  watchStalls(100, (from, to) => append({ kind: "freeze", pid: process.pid, from, to }));
  return {
    store: redisStore(new Redis(port, "127.0.0.1")),
    async apply(context, pauseMs) {
      append(effectOf(context));
      await pause(pauseMs);
    },
  };
}

/** Spreads the increments over many rows, because a frozen process keeps its own row locked. */
const increment = "update counters set count = count + 1 where id = abs(hashtext($1)) % 1000";

async function postgresBackend({
  connectionString,
  inTransaction,
}: Extract<Site, { kind: "postgres" }>): Promise<Backend> {
  const [{ postgresStore }, { default: pg }] = await Promise.all([
    import("@svc-webhooks/postgres"),
    import("pg"),
  ]);
  const pool = new pg.Pool({
    connectionString,
    max: 10,
    connectionTimeoutMillis: 5_000,
    // Outside of `transaction`, nothing else ends a query on a silent connection.
    ...(!inTransaction && { query_timeout: 5_000 }),
  });
  const store = postgresStore(pool);
  return {
    store,
    async apply(context, pauseMs) {
      const write = async (on: Pick<Pool, "query">) => {
        await on.query("insert into effects select $1::jsonb", [JSON.stringify(effectOf(context))]);
        await pause(pauseMs);
        await on.query(increment, [context.deliveryId]);
      };
      await (inTransaction ? store.transaction(context, write) : write(pool));
    },
  };
}

async function sqliteBackend({
  file,
  inTransaction,
}: Extract<Site, { kind: "sqlite" }>): Promise<Backend> {
  const [{ sqliteStore }, { DatabaseSync }] = await Promise.all([
    import("@svc-webhooks/sqlite"),
    import("@photostructure/sqlite"),
  ]);
  const db = new DatabaseSync(file);
  const store = sqliteStore(db);
  const insert = db.prepare("insert into effects values (?)");
  const count = db.prepare("update counter set count = count + 1");
  return {
    store,
    async apply(context, pauseMs) {
      const effect = JSON.stringify(effectOf(context));
      if (inTransaction) {
        store.transaction(context, () => {
          insert.run(effect);
          block(pauseMs);
          count.run();
        });
        return;
      }
      insert.run(effect);
      await pause(pauseMs);
      count.run();
    },
  };
}

/** Blocks the process, because a transaction is synchronous, so that kills and freezes also hit inside it. */
const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
