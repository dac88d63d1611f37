import { setTimeout } from "node:timers/promises";
import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { InboxAdmin, ReleaseOptions } from "@svc-webhooks/core/inbox";
import { assertFound, foundColumn, type InboxQueue } from "../queue/queue.js";
import { assertCount } from "./assert-count.js";

/** How often a release counts the jobs that have failed again. */
const countMs = 200;

/** Runs dead letters again, one after the other, until the limit or until too many have failed again. */
export async function release(
  queue: InboxQueue,
  admin: Pick<InboxAdmin, "retry">,
  options: ReleaseOptions,
): ReturnType<InboxAdmin["release"]> {
  const { boss, name, dead, jobs, attempts } = queue;
  assertRelease(options);
  const { perSecond, limit = Infinity, stopAfter = Infinity, type, signal } = options;
  const query = <Row>(text: string, values: unknown[]) =>
    boss
      .getDb()
      .executeSql(text, values)
      .then(({ rows }) => rows as Row[]);
  const [start] = await query<{ readonly now: string; readonly found: boolean }>(
    `select now()::text as now, ${foundColumn(queue)}`,
    [name],
  );
  assertFound(queue, start?.found);
  const roots = new Set<string>();
  /** Counts the released jobs that are dead again, and those that wait for another attempt or run it. */
  const failures = async () => {
    const failed = await query<{ readonly root: string }>(
      `select source_root_id as root from ${jobs} where name = $1 and created_on > $2
      union
      select coalesce(source_root_id, id) from ${jobs}
      where name = $3 and (source_root_id is not null or retry_limit >= $4)
        and retry_limit - retry_count < $4 - (state = 'active')::int and state in ('retry', 'active')`,
      [dead, start?.now, name, attempts],
    );
    return failed.filter(({ root }) => roots.has(root)).length;
  };
  const result = async () => ({ released: roots.size, failedAgain: await failures() });
  let countedAt = -Infinity;
  const hasStopped = async () => {
    if (stopAfter === Infinity || performance.now() - countedAt < countMs) return false;
    countedAt = performance.now();
    return (await failures()) >= stopAfter;
  };

  /** The letters that could not be released: they come from no job, or another operator has settled them. */
  const left: string[] = [];
  /** Returns the next letters: the oldest events first, and none that died during the release. */
  const next = () =>
    query<{ readonly id: string; readonly root: string | null }>(
      `select id, source_root_id as root from ${jobs}
      where name = $1 and state < 'active' and created_on <= $2 and ($3::text is null or data->>'type' = $3)
        and id <> all($4::uuid[])
      order by coalesce(source_created_on, created_on), id limit 100`,
      [dead, start?.now, type, left],
    );

  const began = performance.now();
  for (let page = await next(); page.length > 0; page = await next()) {
    for (const { id, root } of page) {
      if (roots.size >= limit) return result();
      await pause(began + (roots.size * 1_000) / perSecond - performance.now(), signal);
      if (signal?.aborted || (await hasStopped())) return result();
      if (await admin.retry(id)) roots.add(root ?? id);
      else left.push(id);
    }
  }
  return result();
}

function assertRelease(options: ReleaseOptions): void {
  assertOptions(options, ["perSecond", "limit", "stopAfter", "type", "signal"]);
  const { perSecond, limit, stopAfter, type, signal } = options;
  assertValid(
    typeof perSecond === "number" && perSecond >= 0.001 && perSecond <= 1_000,
    "perSecond",
    "`perSecond` must be a number from 0.001 to 1,000.",
  );
  assertCount(limit, "limit", 0);
  assertCount(stopAfter, "stopAfter", 1);
  assertValid(type === undefined || typeof type === "string", "type", "`type` must be a string.");
  assertValid(
    signal === undefined || signal instanceof AbortSignal,
    "signal",
    "`signal` must be an AbortSignal.",
  );
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  setTimeout(Math.max(0, ms), undefined, { signal }).catch(() => {});
