import type { QueueLike } from "../queue-like.js";
import { clientOf, fieldOf } from "./connection.js";

/** Lists the server settings that endanger jobs, one sentence each. The list is empty for backends other than Redis. */
export async function check(queue: QueueLike): Promise<readonly string[]> {
  const client = await clientOf(queue);
  if (typeof client?.info !== "function") return [];
  const info = await client.info();
  const setting = (name: string) => fieldOf(info, name);
  const problems: string[] = [];
  if (setting("aof_enabled") !== "1") {
    problems.push(
      "appendonly is no, so events that were acknowledged are lost if Redis ends unexpectedly. Set appendonly to yes, and appendfsync to always if a power failure must not lose a second of events.",
    );
  }
  const policy = setting("maxmemory_policy");
  if (policy !== "noeviction") {
    problems.push(
      `maxmemory-policy is ${policy}, so jobs may be evicted and their events lost. Set it to noeviction.`,
    );
  }
  if (setting("role") === "slave") {
    problems.push(
      "This server is a replica and rejects writes, so no delivery can be stored. Connect to the primary.",
    );
  }
  const [most, used] = [Number(setting("maxmemory") ?? 0), Number(setting("used_memory") ?? 0)];
  if (most > 0 && used > most * 0.7) {
    problems.push(
      `Redis uses ${Math.floor((100 * used) / most)} % of maxmemory. No delivery is stored that would leave less than a fifth of it free. Raise maxmemory, or start workers.`,
    );
  }
  const { socketTimeout, reconnectOnError } = client.options ?? {};
  if (client.options && !socketTimeout) {
    problems.push(
      "The connection of the queue has no socketTimeout, so a worker with the same options never leaves a connection that dies silently. Use `queueConnection` and `workerConnection` of this package.",
    );
  }
  if (client.options && typeof reconnectOnError !== "function") {
    problems.push(
      "The connection of the queue has no reconnectOnError, so a worker with the same options keeps a primary that was demoted. Use `queueConnection` and `workerConnection` of this package.",
    );
  }
  return problems;
}
