import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { DeliveryContext, DeliveryStore } from "@svc-webhooks/core";
import { postgresStore } from "@svc-webhooks/postgres";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { now } from "./time.js";
import type { Effect } from "./verdict.js";

/** The location of the receivers' records and the handlers' effects. */
export type Site =
  | { readonly kind: "redis"; readonly port: number; readonly effectLog: string }
  | {
      readonly kind: "postgres";
      readonly connectionString: string;
      /** Whether effects are written inside `store.transaction`. */
      readonly inTransaction: boolean;
    };

/** A receiver's connection to its site. */
export interface Backend {
  readonly store: DeliveryStore;
  /** Writes a run's effect, and then pauses for `pauseMs` before the run's last step. */
  readonly apply: (context: DeliveryContext, pauseMs: number) => Promise<void>;
}

export const backendOf = (site: Site): Backend =>
  site.kind === "redis" ? redisBackend(site) : postgresBackend(site);

const effectOf = ({ deliveryId, run = 0, fence = 0 }: DeliveryContext): Effect => ({
  deliveryId,
  run,
  fence,
  pid: process.pid,
  at: now(),
});

const redisBackend = ({ port, effectLog }: Extract<Site, { kind: "redis" }>): Backend => ({
  store: redisStore(new Redis(port, "127.0.0.1")),
  async apply(context, pauseMs) {
    // A single write with O_APPEND keeps the lines of different processes from interleaving.
    appendFileSync(effectLog, `${JSON.stringify(effectOf(context))}\n`);
    await pause(pauseMs);
  },
});

/** Spreads the increments over many rows, because a frozen process keeps its own row locked. */
const increment = "update counters set count = count + 1 where id = abs(hashtext($1)) % 1000";

function postgresBackend({
  connectionString,
  inTransaction,
}: Extract<Site, { kind: "postgres" }>): Backend {
  const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 1_000 });
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
