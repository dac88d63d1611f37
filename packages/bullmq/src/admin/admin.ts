import { assertValid } from "@svc-webhooks/core/adapter";
import { assertQuery, entryOf } from "@svc-webhooks/core/engine";
import type { InboxAdmin, InboxEntry, InboxState } from "@svc-webhooks/core/inbox";
import { release } from "./release.js";
import { discard } from "../queue/discard.js";
import type { Reach } from "../queue/connection.js";
import { revive } from "../queue/enqueue.js";
import type { BullmqInboxOptions } from "../options.js";
import type { BullJob, BullState, QueueLike } from "../queue-like.js";

/** The BullMQ states of each inbox state. A job is `prioritized` only if another application has set a priority. */
const bullStates: Readonly<Record<InboxState, BullState[]>> = {
  ready: ["waiting", "prioritized"],
  delayed: ["delayed"],
  active: ["active"],
  dead: ["failed"],
};

const stateOf = (bullState: string): InboxState | undefined =>
  (Object.keys(bullStates) as InboxState[]).find((state) =>
    bullStates[state].includes(bullState as BullState),
  );

export function adminOf(
  queue: QueueLike,
  reach: Reach,
  onDiscard: BullmqInboxOptions["onDiscard"],
): InboxAdmin {
  /** Returns a job and its entry, or undefined if the job does not exist or is in another state, such as done. */
  const find = async (id: string) => {
    const [job, bullState] = await reach(Promise.all([queue.getJob(id), queue.getJobState(id)]));
    const state = job && stateOf(bullState);
    return state && { job, entry: entryOfJob(job, state) };
  };
  const admin: InboxAdmin = {
    async stats() {
      const [counts, waiting] = await reach(
        Promise.all([
          queue.getJobCounts(...Object.values(bullStates).flat()),
          Promise.all(bullStates.ready.map((state) => queue.getJobs([state], 0, 0, true))),
        ]),
      );
      const count = (state: InboxState) =>
        bullStates[state].reduce((sum, bullState) => sum + (counts[bullState] ?? 0), 0);
      const stored = waiting.flat().map(({ timestamp }) => timestamp);
      return {
        ready: count("ready"),
        delayed: count("delayed"),
        active: count("active"),
        dead: count("dead"),
        oldestMs: stored.length > 0 ? Math.max(0, Date.now() - Math.min(...stored)) : undefined,
      };
    },
    async *list(query) {
      assertQuery(query);
      const { state, type, after, limit = Infinity } = query;
      let left = limit;
      // Reads all ids first, because the caller may remove jobs while it iterates over the list.
      const ids = await reach(queue.getRanges(bullStates[state], 0, -1, true));
      const start = ids.findIndex((id) => id === after) + 1;
      assertValid(
        after === undefined || start > 0,
        "query.after",
        "The job `after` is no longer in this list. List again without `after`.",
      );
      for (const id of ids.slice(start)) {
        if (left <= 0) return;
        const entry = (await find(id))?.entry;
        if (entry?.state !== state || (type !== undefined && entry.type !== type)) continue;
        left -= 1;
        yield entry;
      }
    },
    get: async (id) => (await find(id))?.entry,
    async retry(id) {
      const queued = await find(id);
      if (queued?.entry.state === "delayed") return reach(runNow(queued.job));
      return queued?.entry.state === "dead" && reach(revive(queued.job));
    },
    async discard(id, reason) {
      const queued = await find(id);
      if (queued?.entry.state !== "dead" || !(await reach(discard(queue, queued.job))))
        return false;
      await onDiscard?.(queued.entry, reason);
      return true;
    },
    release: (options) => release(queue, reach, admin, options),
  };
  return admin;
}

/** Makes a delayed job ready now. Returns false if the job is no longer delayed. */
async function runNow(job: BullJob): Promise<boolean> {
  try {
    await job.promote();
    return true;
  } catch (error) {
    if ((await job.getState()) === "delayed") throw error;
    return false;
  }
}

/** Converts a job to the entry that an operator sees. */
const entryOfJob = (job: BullJob, state: InboxState): InboxEntry => ({
  id: String(job.id),
  state,
  ...entryOf(job.data, job.timestamp),
  attempts: job.attemptsMade,
  error: job.failedReason ?? undefined,
});
