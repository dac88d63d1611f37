import type { InboxStats } from "@svc-webhooks/core/inbox";
import { assertFound, foundColumn, is, sql, type InboxQueue } from "../queue/queue.js";
import { operatorMs } from "../queue/replies.js";

/**
 * Counts the jobs of a queue with a statement of this package, because pg-boss refreshes its own counts only once a
 * minute.
 */
export async function stats(queue: InboxQueue): Promise<InboxStats> {
  const { name, dead, jobs, partitionBy, holds } = queue;
  const [row] = await sql<
    Omit<InboxStats, "oldestMs"> & {
      readonly oldest: string | number | null;
      readonly held: number;
      readonly found: boolean;
    }
  >(
    queue,
    `select
      count(*) filter (where ${waits} and start_after <= now() and not is_held)::int as ready,
      count(*) filter (where ${waits} and start_after > now())::int as delayed,
      count(*) filter (where name = $1 and ${is("=", "active")})::int as active,
      count(*) filter (where name = $2 and ${is("<", "active")})::int as dead,
      extract(epoch from now() - min(created_on) filter (where ${waits} and start_after <= now() and not is_held)) as oldest,
      count(distinct singleton_key) filter (where name = $1 and ${is("=", "failed")})::int as held,
      ${foundColumn(queue)}
    from ${jobs}, lateral (select $3 and exists (
      select 1 from ${jobs} head
      where head.name = $1 and head.singleton_key = job.singleton_key and ${is("=", "failed", "head.state")}
    ) as is_held) held_by where name in ($1, $2) and ${is("<>", "completed")}`,
    [name, dead, holds],
    operatorMs,
  );
  // Throws for a queue that does not exist, because a monitor would otherwise show an empty queue.
  assertFound(queue, row?.found);
  const { oldest, held, found: _, ...counts } = row as NonNullable<typeof row>;
  return {
    ...counts,
    oldestMs: oldest === null ? undefined : Math.round(Number(oldest) * 1_000),
    ...(partitionBy && { heldKeys: held }),
  };
}

const waits = `name = $1 and ${is("<", "active")}`;
