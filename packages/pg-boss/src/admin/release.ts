import { releaseLetters } from "@svc-webhooks/core/engine";
import type { InboxAdmin, ReleaseOptions } from "@svc-webhooks/core/inbox";
import { assertFound, foundColumn, is, sql, type InboxQueue } from "../queue/queue.js";
import { operatorMs } from "../queue/replies.js";

/** Runs dead letters again, one after the other, within the limits that `options` sets. */
export async function release(
  queue: InboxQueue,
  retry: InboxAdmin["retry"],
  options: ReleaseOptions,
): ReturnType<InboxAdmin["release"]> {
  const { name, dead, jobs, mostAttempts } = queue;
  const query = <Row>(text: string, values: unknown[]) => sql<Row>(queue, text, values, operatorMs);
  let start: string | undefined;
  /** Maps the id of each letter that was yielded to the id of its event's first job. */
  const roots = new Map<string, string>();

  /** Yields the letters that exist at the start, oldest event first. Reads them in pages. */
  async function* letters(type: string | undefined) {
    const [row] = await query<{ readonly now: string; readonly found: boolean }>(
      `select now()::text as now, ${foundColumn(queue)}`,
      [name],
    );
    assertFound(queue, row?.found);
    start = row?.now;
    /** The letters already yielded. Some may remain in the queue because they could not be released. */
    const seen: string[] = [];
    for (;;) {
      const page = await query<{ readonly id: string; readonly root: string | null }>(
        `select id, source_root_id as root from ${jobs}
        where name = $1 and ${is("<", "active")} and created_on <= $2
          and ($3::text is null or data operator(pg_catalog.->>) 'type' = $3) and id <> all($4::uuid[])
        order by coalesce(source_created_on, created_on), id limit 100`,
        [dead, start, type, seen],
      );
      if (page.length === 0) return;
      for (const { id, root } of page) {
        roots.set(id, root ?? id);
        yield { id };
        seen.push(id);
      }
    }
  }

  /**
   * Counts the released jobs that have failed again. Such a job is dead, waits for another attempt or is running it.
   */
  async function countFailed(released: readonly string[]): Promise<number> {
    if (released.length === 0) return 0;
    const failed = await query<{ readonly root: string }>(
      `select source_root_id as root from ${jobs} where name = $1 and created_on > $2
      union
      select coalesce(source_root_id, id) from ${jobs}
      where name = $3 and (source_root_id is not null or retry_limit >= $4)
        and retry_limit - retry_count < $4 - (${is("=", "active")})::int
        and (${is("=", "retry")} or ${is("=", "active")})`,
      [dead, start, name, mostAttempts],
    );
    const own = new Set(released.map((id) => roots.get(id)));
    return failed.filter(({ root }) => own.has(root)).length;
  }

  return releaseLetters(letters, retry, countFailed, options);
}
