import { assertValid } from "@svc-webhooks/core/adapter";
import { assertQuery, entryOf } from "@svc-webhooks/core/engine";
import {
  errorText,
  type InboxAdmin,
  type InboxEntry,
  type InboxState,
} from "@svc-webhooks/core/inbox";
import type { BossJobRecord } from "../pg-boss-like.js";
import { is, sql, type InboxQueue } from "../queue/queue.js";
import { operatorMs, replyTo } from "../queue/replies.js";
import { revive } from "../queue/revive.js";
import { release } from "./release.js";
import { stats } from "./stats.js";

/** The number of jobs that `list` reads at a time. */
const pageSize = 100;
const isId = (id: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id);

export function adminOf(queue: InboxQueue): InboxAdmin {
  const { boss, name, dead, holds } = queue;
  const find = (from: string, options: Parameters<typeof boss.findJobs>[1]) =>
    replyTo(boss, () => boss.findJobs(from, options), operatorMs);
  const letterOf = async (id: string) =>
    isId(id) ? (await find(dead, { id, queued: true }))[0] : undefined;

  async function retry(id: string): Promise<boolean> {
    const letter = await letterOf(id);
    if (!letter) return isId(id) && runNow(queue, id);
    // Revives the failed job itself instead of adding a new one, because the failed job holds its key and its place in
    // the order.
    if (holds && letter.sourceId !== null && (await revive(queue, letter.sourceId, operatorMs))) {
      await replyTo(boss, () => boss.deleteJob(dead, [id]), operatorMs);
      return true;
    }
    return (await replyTo(boss, () => boss.redrive(dead, { ids: [id] }), operatorMs)) > 0;
  }

  return {
    stats: () => stats(queue),
    async *list(listQuery) {
      assertQuery(listQuery);
      const { state, type, after, limit = Infinity } = listQuery;
      assertValid(
        after === undefined || isId(after),
        "query.after",
        "`query.after` must be the `id` of an entry.",
      );
      const from = state === "dead" ? dead : name;
      const query = {
        queued: state !== "active",
        limit: pageSize,
        ...(type !== undefined && { data: { type } }),
      };
      /** Reads the page after the last job of `ids` that still exists. Resolves to undefined if none exists. */
      const next = async (ids: readonly string[]) => {
        for (const last of ids.toReversed()) {
          try {
            return await find(from, { ...query, after: last });
          } catch (error) {
            if (!isGone(error)) throw error;
          }
        }
        return undefined;
      };
      const first = after === undefined ? await find(from, query) : await next([after]);
      assertValid(
        first,
        "query.after",
        "The job `query.after` no longer exists. List again without it.",
      );
      let left = limit;
      const seen = new Set<string>();
      for (let page = first; page.length > 0;) {
        const ids = page.map(({ id }) => id);
        // Reads the next page before yielding this one, because the caller may remove the job after which the next page
        // begins. If other processes have removed all jobs of this page, the list starts again.
        const isLast = page.length < pageSize;
        const following = isLast ? [] : ((await next(ids)) ?? (await find(from, query)));
        for (const job of page) {
          if (seen.has(job.id)) continue;
          seen.add(job.id);
          if (left <= 0) return;
          const entry = entryOfJob(job, from === dead);
          if (entry?.state !== state) continue;
          left -= 1;
          yield entry;
        }
        page = following;
      }
    },
    async get(id) {
      if (!isId(id)) return undefined;
      const [job] = await find(name, { id });
      const letter = await letterOf(id);
      return letter ? entryOfJob(letter, true) : job && entryOfJob(job, false);
    },
    retry,
    async discard(id, reason) {
      const letter = await letterOf(id);
      const entry = letter && entryOfJob(letter, true);
      if (!entry || !(await remove(queue, id))) return false;
      await queue.onDiscard?.(entry, reason);
      return true;
    },
    release: (options) => release(queue, retry, options),
  };
}

/** Returns whether pg-boss threw an error because the job after which it should list no longer exists. */
const isGone = (error: unknown) => /no longer exists/.test(errorText(error));

/** Makes a delayed job ready now. Resolves to false if the job is not delayed. */
async function runNow(queue: InboxQueue, id: string): Promise<boolean> {
  const rows = await sql(
    queue,
    `update ${queue.jobs} set start_after = now()
    where name = $1 and id = $2 and ${is("<", "active")} and start_after > now()
    returning id`,
    [queue.name, id],
    operatorMs,
  );
  return rows.length > 0;
}

/**
 * Removes a dead letter and, with `afterDead: "hold"`, the failed job that holds its key. Keeps the job if a redelivery
 * has revived it or if it has another letter. Uses one statement, so that neither can happen between the check and the
 * removal.
 */
async function remove(queue: InboxQueue, id: string): Promise<boolean> {
  const { name, dead, jobs, holds } = queue;
  const rows = await sql(
    queue,
    `with letter as (
      delete from ${jobs} where name = $1 and id = $2 and ${is("<", "active")} returning source_id
    ), held as (
      delete from ${jobs}
      where $4 and name = $3 and ${is("=", "failed")} and id in (select source_id from letter)
        and not exists (
          select 1 from ${jobs} other
          where other.name = $1 and other.id <> $2 and ${is("<", "active", "other.state")} and other.source_id = ${jobs}.id
        )
    )
    select from letter`,
    [dead, id, name, holds],
    operatorMs,
  );
  return rows.length > 0;
}

/** Converts a job to the entry that an operator sees. Returns undefined if the job is done. */
function entryOfJob(job: BossJobRecord, isLetter: boolean): InboxEntry | undefined {
  const { id, data, startAfter, createdOn } = job;
  const state = isLetter ? "dead" : stateOf(job.state, startAfter);
  if (!state) return undefined;
  const { message } = Object(isLetter ? job.sourceOutput : job.output) as { message?: unknown };
  return {
    id,
    state,
    ...entryOf(data, createdOn.getTime()),
    attempts: attemptsOf(job, isLetter),
    error: typeof message === "string" ? message : undefined,
  };
}

function stateOf(state: string, startAfter: Date): InboxState | undefined {
  if (state === "active") return state;
  if (state !== "created" && state !== "retry") return undefined;
  return startAfter.getTime() > Date.now() ? "delayed" : "ready";
}

/** Returns the number of attempts that have ended. pg-boss counts a retry when its attempt starts. */
const attemptsOf = ({ state, retryCount, sourceRetryCount }: BossJobRecord, isLetter: boolean) =>
  isLetter ? (sourceRetryCount ?? 0) + 1 : retryCount + (state === "retry" ? 1 : 0);
