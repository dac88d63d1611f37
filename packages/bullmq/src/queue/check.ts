import type { QueueLike } from "../queue-like.js";

interface RedisClient {
  info(): Promise<string>;
}

/** Lists the server settings that endanger jobs, one sentence each. The list is empty for backends other than Redis. */
export async function check({ backend }: QueueLike): Promise<readonly string[]> {
  const client = (await (backend as { readonly client?: unknown }).client) as
    Partial<RedisClient> | undefined;
  if (typeof client?.info !== "function") return [];
  const info = await client.info();
  const setting = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
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
  return problems;
}
