import { codeOf } from "@svc-webhooks/core/adapter";
import { within } from "@svc-webhooks/core/engine";
import { errorText } from "@svc-webhooks/core/inbox";
import type { QueueLike } from "../queue-like.js";

/** The members of BullMQ's Redis client that an inbox uses. Other backends lack some or all of them. */
export interface RedisClient {
  info(section?: string): Promise<string>;
  disconnect(reconnect: boolean): unknown;
  readonly status: string;
  readonly options: { readonly socketTimeout?: number; readonly reconnectOnError?: unknown };
  defineCommand(name: string, definition: { numberOfKeys: number; lua: string }): void;
  runCommand(name: string, args: readonly string[]): Promise<unknown>;
}

/** Resolves to the Redis client of a queue or worker once it is connected, or to undefined for other backends. */
export async function clientOf({
  backend,
}: Pick<QueueLike, "backend">): Promise<Partial<RedisClient> | undefined> {
  return (await (backend as { readonly client?: unknown }).client) as
    Partial<RedisClient> | undefined;
}

/** Returns the value of a field in the reply of INFO. */
export const fieldOf = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];

/** How long a delivery, or the check of a worker's connection, waits for Redis, in milliseconds. */
export const replyMs = 5_000;

/**
 * Waits for a queue's call, by default for at most 10 s. Replaces the connection if the error shows that the connection
 * is dead or read-only.
 */
export type Reach = <Reply>(call: Promise<Reply>, ms?: number) => Promise<Reply>;

/**
 * The minimum pause between reconnections, in milliseconds, so that repeated failures do not interrupt each new
 * connection.
 */
const pauseMs = 5_000;

/**
 * Returns the function that wraps all calls of a queue. It replaces the connection, at most every 5 s, if no reply
 * arrives within the deadline, or after `READONLY` from a primary that was demoted and has kept its connections.
 */
export function reachOf(queue: QueueLike): Reach {
  let leftAt = -Infinity;
  const leave = async () => reconnect(await clientOf(queue));
  return async (call, ms) => {
    try {
      return await within(call, ms);
    } catch (error) {
      const isKept = codeOf(error) === "queue_unavailable" || isReadOnly(error);
      if (isKept && performance.now() - leftAt >= pauseMs) {
        leftAt = performance.now();
        leave().catch(() => {});
      }
      throw error;
    }
  };
}

/**
 * Replaces an open connection, even one that has not received anything yet. Does nothing while a connection is being
 * opened, because ioredis itself limits the time for that.
 */
function reconnect(client: Partial<RedisClient> | undefined): void {
  if (typeof client?.disconnect !== "function") return;
  if (client.status === "ready" || client.status === "connect") client.disconnect(true);
}

/** The interval between two checks of a worker's connection, in milliseconds. */
const askEveryMs = 3_000;

/** The workers whose connections are being checked. */
const asked = new WeakSet<object>();

/**
 * Checks a worker's main connection until the worker is closed. If it has died silently or leads to a replica, replaces
 * it and the worker's blocking connection, because BullMQ waits for a reply on one before it uses the other. A worker
 * without `workerConnection` would keep dead connections indefinitely.
 */
export function keepConnected(worker: Pick<QueueLike, "backend"> | undefined): void {
  if (!worker || asked.has(worker)) return;
  asked.add(worker);
  const ask = async () => {
    const client = await clientOf(worker);
    if (typeof client?.info !== "function" || client.status === "end") {
      clearInterval(asking);
      return;
    }
    const isDead = await within(client.info("replication"), replyMs).then(
      (info) => fieldOf(info, "role") === "slave",
      (error: unknown) => codeOf(error) === "queue_unavailable",
    );
    if (!isDead) return;
    reconnect(client);
    const { blockingClient } = worker.backend as { readonly blockingClient?: unknown };
    reconnect((await blockingClient) as Partial<RedisClient> | undefined);
  };
  const asking = setInterval(() => void ask().catch(() => {}), askEveryMs).unref();
}

/** Returns whether a replica refused a write. Redis 6.2 wraps errors: `ERR Error running script (…): -READONLY …`. */
export const isReadOnly = (error: unknown): boolean => /(?:^|-)READONLY /.test(errorText(error));
