import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver, type DeliveryContext } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { postgresStore } from "@svc-webhooks/postgres";
import { secret } from "@svc-webhooks/kit/deliveries";
import { Pool, type PoolClient } from "pg";
import { fastClock, fastStore } from "../../../faults/processes/fast.js";
import { createBoss } from "../boss.js";
import { graphile, silent } from "../graphile.js";
import type { Point, Settings, Variant } from "./settings.js";

/** A web process or a worker of a chaos run. Sends its port, or 0. */
const { role, variant, connectionString, judge, addJob } = JSON.parse(
  process.argv[2] ?? "",
) as Settings;

// The parent has exited, so this process exits too.
process.once("disconnect", () => process.exit());

const call = async (path: string, fields: object): Promise<void> => {
  const query = new URLSearchParams({ pid: String(process.pid), ...fields });
  const response = await fetch(`${judge}/${path}?${query.toString()}`, { method: "POST" });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`The judge responded with ${response.status}.`);
};

/** Reports that this process has reached a point, at which it may be killed. */
const at = (point: Point, order: string) => call("at", { point, order });
const charge = (order: string, key: string) => call("charge", { order, key });

const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 5_000 });
// Graphile Worker warns about a pool without these.
pool.on("error", () => {});
pool.on("connect", (client) => void client.on("error", () => {}));
const usesPgBoss = variant !== "Graphile Worker" && variant !== "charge first";

/** A busy machine may be late with a connection. */
const patience = { connectionTimeoutMillis: 10_000 };

/** Runs one job. */
async function run(order: string, key: string): Promise<void> {
  await at("job fetched", order);
  await charge(order, key);
  await at("charged", order);
}

async function workOnGraphile(): Promise<void> {
  const events = new EventEmitter<{ "pool:create": [{ readonly workerPool: { id: string } }] }>();
  const ids: Promise<void>[] = [];
  // Jobs are locked by pools. The supervisor unlocks those of a killed process.
  events.on("pool:create", ({ workerPool }) => ids.push(call("pool", { pool: workerPool.id })));
  const { promise } = await graphile.run({
    pgPool: pool,
    events,
    concurrency: 4,
    pollInterval: 200,
    noHandleSignals: true,
    logger: silent(),
    taskList: {
      charge: ({ order, key }: { readonly order: string; readonly key: string }) => run(order, key),
    },
  });
  // A worker that cannot report the end of a job stops the others too.
  promise.catch(() => process.exit(1));
  await Promise.all(ids);
}

async function workOnPgBoss(): Promise<void> {
  const boss = createBoss(connectionString, patience);
  await boss.start({ attempts: 1_000 });
  const options = { pollingIntervalSeconds: 0.5 };
  for (let workers = 0; workers < 4; workers += 1) {
    await boss.work("charge", options, async (jobs) => {
      for (const { id, data } of jobs) await run(data.order, data.key || id);
    });
  }
}

/** Returns the handler of a variant. */
async function handlerOf(): Promise<(order: string, context: DeliveryContext) => Promise<void>> {
  const store = postgresStore(pool);
  const boss = createBoss(connectionString, { ...patience, supervise: false, max: 4 });
  if (usesPgBoss) await boss.start({ attempts: 1_000 });
  const insert = async (tx: PoolClient, order: string) => {
    await tx.query("insert into orders (id) values ($1)", [order]);
    await at("row written", order);
  };
  /** Stores the job of an effect in the transaction of its row. */
  const storing =
    (send: (tx: PoolClient, order: string, key: string) => Promise<unknown>) =>
    async (order: string, context: DeliveryContext) => {
      await store.transaction(context, async (tx) => {
        await insert(tx, order);
        await send(tx, order, context.idempotencyKey);
        await at("job stored", order);
      });
      await at("committed", order);
    };
  const handlers: Readonly<
    Record<Variant, (order: string, context: DeliveryContext) => Promise<void>>
  > = {
    "pg-boss": storing((tx, order, key) => {
      const db = { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) };
      return boss.send("charge", { key, order }, { db });
    }),
    "Graphile Worker": storing((tx, order, key) => tx.query(addJob, [key, order])),
    // The mistake of the key makes the other one visible: two jobs of an event have two ids.
    "without db": storing((_tx, order) => boss.send("charge", { key: "", order })),
    async "send after"(order, context) {
      await store.transaction(context, (tx) => insert(tx, order));
      await at("committed", order);
      await boss.send("charge", { key: context.idempotencyKey, order });
    },
    async "charge first"(order, context) {
      await charge(order, randomUUID());
      await at("charged", order);
      await store.transaction(context, (tx) => insert(tx, order));
    },
  };
  return handlers[variant];
}

if (role === "worker") {
  // Graphile Worker does not start while the database is restarting. The process is started again.
  await (usesPgBoss ? workOnPgBoss() : workOnGraphile().catch(() => process.exit(1)));
  process.send?.(0);
} else {
  const handler = await handlerOf();
  const receiver = createReceiver({
    secret,
    name: "orders",
    clock: fastClock,
    store: fastStore(postgresStore(pool)),
    // In real time, 3 s.
    leaseMs: 30_000,
    handlerTimeoutMs: 25_000,
    // In real time, 1 s.
    storeTimeouts: { claim: 10_000, complete: 10_000, release: 10_000, extend: 10_000 },
    log: () => {},
    onHandlerError: () => {},
    on: { "order.paid": (event, context) => handler(String(event["order"]), context) },
  });
  const server = createServer(webhooks(receiver));
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}
