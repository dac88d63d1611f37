import { is, sql, type InboxQueue } from "./queue.js";

/**
 * Makes a failed job run again, at its old place in the order, with its attempts counted from zero. Resolves to false
 * if the job is not failed. Uses one statement, so that nothing deletes or takes the job between the check and the
 * change.
 */
export async function revive(queue: InboxQueue, id: string, ms?: number): Promise<boolean> {
  const { name, jobs, mostAttempts } = queue;
  const rows = await sql(
    queue,
    `update ${jobs}
    set state = 'retry', retry_limit = retry_count + $3, completed_on = null, start_after = now()
    where name = $1 and id = $2 and ${is("=", "failed")}
    returning id`,
    [name, id, mostAttempts],
    ms,
  );
  return rows.length > 0;
}
