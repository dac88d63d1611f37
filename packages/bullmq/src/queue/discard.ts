import type { BullJob, QueueLike } from "../queue-like.js";
import { clientOf } from "./connection.js";

const command = "svcWebhooksDiscard";

// This script replaces `Job.remove`, which would also remove a job that a redelivery has just revived.
const script = {
  numberOfKeys: 4,
  lua: `if redis.call("ZREM", KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call("DEL", KEYS[2], KEYS[3])
redis.call("XADD", KEYS[4], "MAXLEN", "~", 10000, "*", "event", "removed", "jobId", ARGV[1], "prev", "failed")
return 1`,
};

/**
 * Removes a dead letter. Resolves to false if the letter is an inbox's own job in Redis and is no longer dead,
 * otherwise to true.
 */
export async function discard(queue: QueueLike, letter: BullJob): Promise<boolean> {
  const backend = queue.backend as { toKey(type: string): string };
  const redis = await clientOf(queue);
  const id = String(letter.id);
  // Uses `remove` for another application's job, because `remove` also updates the job's parent and children.
  const isOwn = (Object(letter.data) as { readonly key?: unknown }).key === id;
  if (!isOwn || !redis?.defineCommand || !redis.runCommand) {
    await letter.remove();
    return true;
  }
  redis.defineCommand(command, script);
  const keys = ["failed", id, `${id}:logs`, "events"].map((type) => backend.toKey(type));
  return (await redis.runCommand(command, [...keys, id])) === 1;
}
