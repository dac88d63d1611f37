import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { postgresStore, type PgClient } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { fastClock, fastStore } from "../../processes/fast.js";
import { signals, type Fault, type Place, type TransactionPoint } from "./points.js";

/** The settings that the parent passes as JSON in the first argument. */
export interface ReceiverSettings {
  readonly connectionString: string;
  readonly place: Place;
  /** The point at which the process sends itself a signal, and the fault that the signal causes. Default: none. */
  readonly strike?: { readonly point: TransactionPoint; readonly fault: Fault };
}

const { connectionString, place, strike } = JSON.parse(process.argv[2] ?? "") as ReceiverSettings;

const at = (point: TransactionPoint) => {
  if (strike?.point !== point) return;
  process.send?.(point);
  process.kill(process.pid, signals[strike.fault]);
};

/** The lease, in the receiver's time. In real time, it lasts 1.5 s. */
const leaseMs = 15_000;

const connect = () => new Pool({ connectionString, max: 10, connectionTimeoutMillis: 1_000 });

const pool = connect();
pool.on("connect", (client) => {
  const query = client.query.bind(client) as PgClient["query"];
  const reaching: PgClient["query"] = async (text, values) => {
    const reply = query(text, values);
    // The completion and the commit are sent in one message.
    const isEnd = text.endsWith("commit");
    if (isEnd) at("COMMIT sent");
    const result = await reply;
    if (text.startsWith("begin;")) at("begun");
    if (isEnd) at("committed");
    return result;
  };
  Object.assign(client, { query: reaching });
});
const postgres = postgresStore(pool);
const store = fastStore(postgres);

const outside = connect();

const receiver = createReceiver({
  secret: "whsec_test",
  name: "crash-points",
  clock: fastClock,
  store: {
    ...store,
    async complete(...call) {
      at("before complete");
      const result = await store.complete(...call);
      at("after complete");
      return result;
    },
  },
  leaseMs,
  // Half a second in real time, to allow for a busy machine.
  storeTimeouts: { claim: 5_000, complete: 5_000 },
  on: {
    "*": async (_event, context) => {
      at("claimed");
      const write = async (on: Pick<Pool, "query">) => {
        await on.query("insert into effects values ($1)", [context.deliveryId]);
        at("effect written");
      };
      await (place === "inside" ? postgres.transaction(context, write) : write(outside));
    },
  },
  log: () => {},
});

const server = createServer(webhooks(receiver)).listen(0, "127.0.0.1", () =>
  process.send?.((server.address() as AddressInfo).port),
);
process.once("SIGTERM", async () => {
  server.close();
  await receiver.drain({ deadlineMs: leaseMs * 2 });
  process.exit();
});
// The parent has exited, so this process exits too.
process.once("disconnect", () => process.exit());
