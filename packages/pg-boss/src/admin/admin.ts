import { assertOptions, assertValid } from "@svc-webhooks/core";
import type {
  InboxAdmin,
  InboxEntry,
  InboxJob,
  InboxQuery,
  InboxState,
} from "@svc-webhooks/core/inbox";
import type { BossJobRecord } from "../pg-boss-like.js";
import type { InboxQueue } from "../queue/queue.js";
import { revive } from "../queue/revive.js";
import { assertCount } from "./assert-count.js";
import { release } from "./release.js";
import { stats } from "./stats.js";

/** The number of jobs that `list` reads at a time. */
const pageSize = 100;
const isId = (id: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id);

export function adminOf(queue: InboxQueue): InboxAdmin {
  const { boss, name, dead, holds } = queue;
  const letterOf = async (id: string) =>
    isId(id) ? (await boss.findJobs(dead, { id, queued: true }))[0] : undefined;
  const admin: InboxAdmin = {
    stats: () => stats(queue),
    async *list(given) {
      assertQuery(given);
      const { state, type, after, limit = Infinity } = given;
      const from = state === "dead" ? dead : name;
      const query = {
        queued: state !== "active",
        limit: pageSize,
        ...(type !== undefined && { data: { type } }),
      };
      const next = (last: string | undefined) =>
        boss.findJobs(from, { ...query, ...(last !== undefined && { after: last }) });
      let left = limit;
      for (let page = await next(after); page.length > 0;) {
        const last = page.at(-1)?.id;
        // The next page is read first, because the caller may remove the job after which it begins.
        const following = page.length < pageSize ? [] : await next(last);
        for (const job of page) {
          if (left <= 0) return;
          const entry = entryOf(job, from === dead);
          if (entry?.state !== state) continue;
          left -= 1;
          yield entry;
        }
        page = following;
      }
    },
    async get(id) {
      if (!isId(id)) return undefined;
      const [job] = await boss.findJobs(name, { id });
      const letter = await letterOf(id);
      return letter ? entryOf(letter, true) : job && entryOf(job, false);
    },
    async retry(id) {
      const letter = await letterOf(id);
      if (!letter) return false;
      // The job itself holds its key, and keeps its place.
      if (holds && letter.sourceId !== null && (await revive(queue, letter.sourceId))) {
        await boss.deleteJob(dead, [id]);
        return true;
      }
      return (await boss.redrive(dead, { ids: [id] })) > 0;
    },
    async discard(id, reason) {
      const letter = await letterOf(id);
      const entry = letter && entryOf(letter, true);
      if (!entry || !(await remove(queue, id))) return false;
      await queue.onDiscard?.(entry, reason);
      return true;
    },
    release: (options) => release(queue, admin, options),
  };
  return admin;
}

/**
 * Removes a letter, and the failed job that holds its key. One statement, so that it leaves a job that a redelivery has
 * revived, and one that has another letter.
 */
async function remove({ boss, name, dead, jobs, holds }: InboxQueue, id: string): Promise<boolean> {
  const { rows } = await boss.getDb().executeSql(
    `with letter as (
      delete from ${jobs} where name = $1 and id = $2 and state < 'active' returning source_id
    ), held as (
      delete from ${jobs}
      where $4 and name = $3 and state = 'failed' and id in (select source_id from letter)
        and not exists (
          select 1 from ${jobs} other
          where other.name = $1 and other.id <> $2 and other.state < 'active' and other.source_id = ${jobs}.id
        )
    )
    select from letter`,
    [dead, id, name, holds],
  );
  return rows.length > 0;
}

function assertQuery(query: InboxQuery): void {
  assertOptions(query, ["state", "type", "after", "limit"]);
  const { state, type, after, limit } = query;
  assertValid(
    ["ready", "delayed", "active", "dead"].includes(state),
    "state",
    '`state` must be "ready", "delayed", "active" or "dead".',
  );
  assertValid(type === undefined || typeof type === "string", "type", "`type` must be a string.");
  assertValid(
    after === undefined || (typeof after === "string" && isId(after)),
    "after",
    "`after` must be the `id` of an entry.",
  );
  assertCount(limit, "limit", 0);
}

/** Returns a job as an operator sees it, or undefined if it is done. */
function entryOf(job: BossJobRecord, isLetter: boolean): InboxEntry | undefined {
  const { id, data, startAfter, createdOn } = job;
  const state = isLetter ? "dead" : stateOf(job.state, startAfter);
  if (!state) return undefined;
  const { key, type, deliveryId, receivedAt, body, base64 } = Object(data) as Partial<InboxJob>;
  const { message } = Object(isLetter ? job.sourceOutput : job.output) as { message?: unknown };
  return {
    id,
    key: textOf(key),
    type: textOf(type),
    deliveryId: textOf(deliveryId),
    state,
    receivedAt: typeof receivedAt === "number" ? receivedAt : createdOn.getTime(),
    attempts: attemptsOf(job, isLetter),
    error: typeof message === "string" ? message : undefined,
    body: () => Buffer.from(textOf(body), base64 ? "base64" : "utf8"),
  };
}

/** Another application may have written any value. */
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function stateOf(state: string, startAfter: Date): InboxState | undefined {
  if (state === "active") return state;
  if (state !== "created" && state !== "retry") return undefined;
  return startAfter.getTime() > Date.now() ? "delayed" : "ready";
}

/** pg-boss counts a retry when its attempt starts. */
const attemptsOf = ({ state, retryCount, sourceRetryCount }: BossJobRecord, isLetter: boolean) =>
  isLetter ? (sourceRetryCount ?? 0) + 1 : retryCount + (state === "retry" ? 1 : 0);
