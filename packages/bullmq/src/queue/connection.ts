import { codeOf, type MaybePromise } from "@svc-webhooks/core";
import { roomGuard, within } from "@svc-webhooks/core/engine";
import { errorText } from "@svc-webhooks/core/inbox";
import type { QueueLike } from "../queue-like.js";

/** The members of BullMQ's Redis client that an inbox uses. With the other backends, some or all are absent. */
export interface RedisClient {
  info(section?: string): Promise<string>;
  disconnect(reconnect: boolean): unknown;
  readonly status: string;
  readonly options: { readonly socketTimeout?: number; readonly reconnectOnError?: unknown };
  defineCommand(name: string, definition: { numberOfKeys: number; lua: string }): void;
  runCommand(name: string, args: readonly string[]): Promise<unknown>;
}

/** Resolves to the connection of a queue, once it is established. Undefined for BullMQ's other backends. */
export async function clientOf({
  backend,
}: Pick<QueueLike, "backend">): Promise<Partial<RedisClient> | undefined> {
  return (await (backend as { readonly client?: unknown }).client) as
    Partial<RedisClient> | undefined;
}

/** Returns the value of a field in the reply of INFO. */
export const fieldOf = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];

/** How long a delivery waits for Redis, in milliseconds. */
export const replyMs = 5_000;

/** Limits how long a call of a queue takes, and leaves its connection after an error that it would keep. */
export type Reach = <Reply>(call: Promise<Reply>, ms?: number) => Promise<Reply>;

/** The minimum pause between two reconnections, so that a client whose new connections are no better stays connected. */
const pauseMs = 5_000;

/**
 * Returns the function for all calls of a queue. The connection is replaced, at most every 5 s, after no reply within the
 * deadline, or after `READONLY` of a primary that was demoted and has kept its connections.
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

/** Replaces a connection, also one that was accepted and never answered. One that is being opened has a limit of its own. */
function reconnect(client: Partial<RedisClient> | undefined): void {
  if (typeof client?.disconnect !== "function") return;
  if (client.status === "ready" || client.status === "connect") client.disconnect(true);
}

/** How often a worker's connection is asked for a reply, in milliseconds. */
const askEveryMs = 3_000;

/** The workers whose connections are asked for a reply. */
const asked = new WeakSet<object>();

/**
 * Replaces the connections of a worker if they have died silently, or lead to a replica: those of a worker whose options
 * were left out would stay for good, and BullMQ waits for the reply of one before it uses the other. Asks until the worker
 * is closed.
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

/** Redis 6.2 wraps the error of a command in a script: `ERR Error running script (…): -READONLY You can't …`. */
const isReadOnly = (error: unknown) => /(?:^|-)READONLY /.test(errorText(error));

/** The part of `maxmemory` that is kept for workers: taking and settling a job are writes, which a full Redis refuses. */
const kept = 0.2;

/** Returns a function that rejects while a job of this size would use the room that workers need. */
export function guardMemory(queue: QueueLike): (bytes: number) => MaybePromise<void> {
  let least = 0;
  const read = async () => {
    const client = await clientOf(queue);
    if (typeof client?.info !== "function") return Infinity;
    const info = await client.info("memory");
    const most = Number(fieldOf(info, "maxmemory") ?? 0);
    least = most * kept;
    return most > 0 ? most - Number(fieldOf(info, "used_memory")) : Infinity;
  };
  return roomGuard(
    read,
    () => least,
    "With this delivery, less than a fifth of the `maxmemory` of Redis would be free, which workers need to take and settle jobs. Raise `maxmemory`, or start workers",
  );
}
