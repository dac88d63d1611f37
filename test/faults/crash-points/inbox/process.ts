import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver, type Handler, type Receiver } from "@svc-webhooks/core";
import type { Inbox, InboxAdmin } from "@svc-webhooks/core/inbox";
import { webhooks } from "@svc-webhooks/node";
import { postgresStore } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import type { InboxPoint, Place } from "./points.js";

/** The settings that the parent passes as JSON in the first argument. */
export interface ProcessSettings {
  readonly connectionString: string;
  readonly queue: string;
  readonly place: Place;
  /** The point at which the process kills itself. Default: none. */
  readonly strike?: InboxPoint;
  /** The port of Redis, for BullMQ. */
  readonly redisPort?: number;
}

export const settings = JSON.parse(process.argv[2] ?? "") as ProcessSettings;

/** The options of each pool. Servers do not crash in these tests, but the machine may be busy. */
export const connection = {
  connectionString: settings.connectionString,
  connectionTimeoutMillis: 60_000,
  max: 4,
};

/** Kills this process if it is to die at the point. */
export function at(point: InboxPoint): void {
  if (settings.strike === point) process.kill(process.pid, "SIGKILL");
}

/** Returns a function that stores a job, with the points before and after it. */
export const storing =
  <Arguments extends unknown[], Result>(store: (...values: Arguments) => Promise<Result>) =>
  async (...values: Arguments): Promise<Result> => {
    at("before it is stored");
    const result = await store(...values);
    at("stored");
    return result;
  };

interface Engine {
  readonly inbox: Inbox & { readonly admin: InboxAdmin };
  readonly work: (receiver: Pick<Receiver, "resume">) => unknown;
}

/** The body of the response to `GET`. */
export interface Progress {
  /** The number of jobs that are not done. */
  readonly left: number;
  /** The outcomes of this process's runs. */
  readonly runs: readonly string[];
}

/** Accepts deliveries, and runs their jobs once the parent has sent a message. Sends its port. */
export function serve({ inbox, work }: Engine): void {
  const { place } = settings;
  const postgres = postgresStore(new Pool(connection));
  const outside = new Pool(connection);
  const handler: Handler<unknown> = async (_event, context) => {
    at("claimed");
    const write = async (on: Pick<Pool, "query">) => {
      await on.query("insert into effects values ($1)", [context.deliveryId]);
      at("effect written");
    };
    if (place === "outside") return write(outside);
    await postgres.transaction(context, write);
    at("committed");
  };
  const receiver = createReceiver({
    secret: "whsec_test",
    name: "crash-points",
    store: postgres,
    // The queues notice a dead worker earlier, so that the next one waits for the lease.
    leaseMs: 10_000,
    on: { "*": inbox(handler) },
    log: () => {},
  });

  const left = async () => {
    const { ready, delayed, active } = await inbox.admin.stats();
    return ready + delayed + active;
  };
  const runs: string[] = [];
  const resume: Receiver["resume"] = async (...call) => {
    at("fetched");
    const outcome = await receiver.resume(...call);
    // The run before it may still hold its lease, and a busy machine may delay the store.
    if (!["in_flight", "store_unavailable"].includes(outcome.code)) runs.push(outcome.code);
    return outcome;
  };
  process.once("message", async () => {
    await work({ resume });
    if (settings.strike !== "settled") return;
    while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    at("settled");
  });

  const receive = webhooks(receiver);
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      response.end(JSON.stringify({ left: await left(), runs } satisfies Progress));
    } else {
      response.once("finish", () => at("responded"));
      await receive(request, response);
    }
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
  // The parent has exited, so this process exits too.
  process.once("disconnect", () => process.exit());
}
