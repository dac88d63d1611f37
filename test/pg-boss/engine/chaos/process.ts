import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { postgresStore } from "@svc-webhooks/postgres";
import { secret } from "@svc-webhooks/kit/deliveries";
import { Pool } from "pg";
import { bossOf } from "../boss.js";
import type { Settings } from "./run.js";

/** An acceptor or a worker of a chaos run, in its own process. Sends its port, or 0. */
const { role, connectionString, queue, inOrder, inTransaction } = JSON.parse(
  process.argv[2] ?? "",
) as Settings;

const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 10_000 });
pool.on("error", () => {});
const store = postgresStore(pool);
// On a busy machine, a connection takes seconds, and shorter limits would make all processes connect again and again.
const boss = bossOf(connectionString, { connectionTimeoutMillis: 10_000 });
const keyOf = (event: unknown) => String((event as { readonly key?: string }).key);
const inbox = pgBossInbox(boss, {
  queue,
  retry: { limit: 1_000, mostMs: 2_000 },
  ...(inOrder && { partitionBy: keyOf }),
});

const receiver = createReceiver({
  secret,
  name: "chaos",
  store,
  leaseMs: 10_000,
  log: () => {},
  onHandlerError: () => {},
  on: {
    "*": inbox(async (event, context) => {
      if (Math.random() < 0.02) throw new Error("The handler failed.");
      const write = async (on: Pick<Pool, "query">) => {
        const { deliveryId } = context;
        await on.query("insert into effects (delivery, key) values ($1, $2)", [
          deliveryId,
          keyOf(event),
        ]);
        // Long enough without a transaction that kills leave half of the effect.
        await pause(Math.random() * (inTransaction ? 20 : 200));
        await on.query("update counters set count = count + 1 where id = abs(hashtext($1)) % 100", [
          deliveryId,
        ]);
      };
      await (inTransaction ? store.transaction(context, write) : write(pool));
    }),
  },
});

await boss.start({ attempts: 1_000 });
if (role === "worker") {
  await inbox.work(receiver, { concurrency: 12 });
  process.send?.(0);
} else {
  const server = createServer(webhooks(receiver));
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}
