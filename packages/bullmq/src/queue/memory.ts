import { WebhookError, type MaybePromise } from "@svc-webhooks/core";
import { within } from "@svc-webhooks/core/engine";
import type { QueueLike } from "../queue-like.js";
import { clientOf, fieldOf } from "./connection.js";

/**
 * The share of `maxmemory` reserved for workers, which write when they fetch and settle jobs: a full Redis refuses
 * writes.
 */
const kept = 0.2;

/** The minimum times between two reads of the memory, in milliseconds: usually, and while jobs are refused. */
const [readEveryMs, readSoonMs] = [5_000, 500];

/**
 * Resolves to the number of bytes that jobs may still use; infinite for a Redis without `maxmemory`, and for other
 * backends.
 */
async function roomIn(queue: QueueLike): Promise<number> {
  const client = await clientOf(queue);
  if (typeof client?.info !== "function") return Infinity;
  const info = await client.info("memory");
  const most = Number(fieldOf(info, "maxmemory") ?? 0);
  return most > 0 ? most * (1 - kept) - Number(fieldOf(info, "used_memory")) : Infinity;
}

/**
 * Returns a function that refuses a job if storing its bytes would use memory that workers need. If the memory cannot
 * be read within 1 s, jobs are accepted, because a full Redis refuses them itself.
 */
export function guardMemory(queue: QueueLike): (bytes: number) => MaybePromise<void> {
  let room = Infinity;
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  const refresh = async () => {
    room = await within(roomIn(queue), 1_000).catch(() => Infinity);
    readAt = performance.now();
    reading = undefined;
  };
  const take = (bytes: number) => {
    if (bytes > room) {
      throw new WebhookError(
        "queue_full",
        "This delivery would leave less than a fifth of Redis's `maxmemory` free, and workers need it to take and settle jobs. Raise `maxmemory`, or start workers",
      );
    }
    // An estimate: other processes store jobs too, but only this process's jobs are subtracted until the next read.
    room -= bytes;
  };
  return (bytes) => {
    const isDue = performance.now() - readAt >= (bytes > room ? readSoonMs : readEveryMs);
    return isDue ? (reading ??= refresh()).then(() => take(bytes)) : take(bytes);
  };
}
