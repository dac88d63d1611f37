import type { QueueLike } from "../queue-like.js";
import { clientOf, fieldOf } from "./connection.js";

/**
 * Resolves to one text for each risk that the server or the connection poses to jobs. Checks nothing for backends other
 * than Redis.
 */
export async function check(queue: QueueLike): Promise<readonly string[]> {
  const client = await clientOf(queue);
  if (typeof client?.info !== "function") return [];
  const info = await client.info();
  const setting = (name: string) => fieldOf(info, name);
  const problems: string[] = [];
  if (setting("aof_enabled") !== "1") {
    problems.push(
      "appendonly is no, so acknowledged events are lost if Redis crashes. Set appendonly to yes. If a power failure must not lose the last second of events, also set appendfsync to always.",
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
      `Redis uses ${Math.floor((100 * used) / most)} % of maxmemory. The inbox refuses deliveries that would leave less than 20 % free. Raise maxmemory, or start workers.`,
    );
  }
  const { socketTimeout, reconnectOnError } = client.options ?? {};
  if (client.options && !socketTimeout) {
    problems.push(
      "The connection of the queue has no socketTimeout, so a worker with the same options keeps a connection that has died silently. Use `queueConnection` and `workerConnection` of this package.",
    );
  }
  if (client.options && typeof reconnectOnError !== "function") {
    problems.push(
      "The connection of the queue has no reconnectOnError, so a worker with the same options stays on a demoted primary. Use `queueConnection` and `workerConnection` of this package.",
    );
  }
  return problems;
}
