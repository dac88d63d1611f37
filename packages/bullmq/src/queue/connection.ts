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
export async function clientOf({ backend }: QueueLike): Promise<Partial<RedisClient> | undefined> {
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
  const leave = async () => {
    const client = await clientOf(queue);
    if (typeof client?.disconnect === "function" && client.status === "ready") {
      client.disconnect(true);
    }
  };
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
    "Less than 20 % of the `maxmemory` of Redis are free, which workers need to take and settle jobs. Raise `maxmemory`, or start workers.",
  );
}
