import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { InboxAdmin, InboxEntry, InboxJob, InboxState } from "@svc-webhooks/core/inbox";
import { release } from "./release.js";
import { discard } from "../queue/discard.js";
import { revive } from "../queue/enqueue.js";
import { within } from "../queue/within.js";
import type { BullmqInboxOptions } from "../options.js";
import type { BullJob, BullState, QueueLike } from "../queue-like.js";

/** The names of the states in BullMQ. */
const bullStates: Readonly<Record<InboxState, BullState>> = {
  ready: "waiting",
  delayed: "delayed",
  active: "active",
  dead: "failed",
};

const stateOf = (bullState: string): InboxState | undefined =>
  (Object.keys(bullStates) as InboxState[]).find((state) => bullStates[state] === bullState);

export function adminOf(queue: QueueLike, onDiscard: BullmqInboxOptions["onDiscard"]): InboxAdmin {
  /** Returns a job and its state, unless it is done or does not exist. */
  const find = async (id: string) => {
    const job = await queue.getJob(id);
    const state = job && stateOf(await job.getState());
    return state && { job, state };
  };
  const letterOf = async (id: string) => {
    const found = await within(find(id));
    return found?.state === "dead" ? found.job : undefined;
  };
  const admin: InboxAdmin = {
    async stats() {
      const [counts, [oldest]] = await within(
        Promise.all([
          queue.getJobCounts(...Object.values(bullStates)),
          queue.getJobs(["waiting"], 0, 0, true),
        ]),
      );
      return {
        ready: counts["waiting"] ?? 0,
        delayed: counts["delayed"] ?? 0,
        active: counts["active"] ?? 0,
        dead: counts["failed"] ?? 0,
        oldestMs: oldest && Math.max(0, Date.now() - oldest.timestamp),
      };
    },
    async *list(query) {
      assertOptions(query, ["state", "type", "after", "limit"], "query");
      const { state, type, after, limit = Infinity } = query;
      // BullMQ's own name of a state, such as "failed", must not look like an empty list.
      assertValid(
        Object.hasOwn(bullStates, state),
        "query.state",
        '`state` must be "ready", "delayed", "active" or "dead".',
      );
      let left = limit;
      // The ids are read first, because the caller may remove jobs from the list that it reads.
      const ids = await within(queue.getRanges([bullStates[state]], 0, -1, true));
      assertValid(
        after === undefined || ids.includes(after),
        "after",
        "The job `after` is no longer in this list. List again without `after`.",
      );
      for (const id of ids.slice(after === undefined ? 0 : ids.indexOf(after) + 1)) {
        if (left <= 0) return;
        const job = await within(queue.getJob(id));
        const entry = job && entryOf(job, state);
        if (!entry || (type !== undefined && entry.type !== type)) continue;
        left -= 1;
        yield entry;
      }
    },
    async get(id) {
      const found = await within(find(id));
      return found && entryOf(found.job, found.state);
    },
    async retry(id) {
      const letter = await letterOf(id);
      return letter ? within(revive(letter)) : false;
    },
    async discard(id, reason) {
      const letter = await letterOf(id);
      if (!letter || !(await within(discard(queue, letter)))) return false;
      await onDiscard?.(entryOf(letter, "dead"), reason);
      return true;
    },
    release: (options) => release(queue, admin, options),
  };
  return admin;
}

/** Returns a job as an operator sees it. Another application may have written its data. */
function entryOf(job: BullJob, state: InboxState): InboxEntry {
  const { key, type, deliveryId, receivedAt, body, base64 } = Object(job.data) as Partial<
    Record<keyof InboxJob, unknown>
  >;
  return {
    id: String(job.id),
    key: textOf(key),
    type: textOf(type),
    deliveryId: textOf(deliveryId),
    state,
    receivedAt: typeof receivedAt === "number" ? receivedAt : job.timestamp,
    attempts: job.attemptsMade,
    error: job.failedReason ?? undefined,
    body: () => Buffer.from(textOf(body), base64 === true ? "base64" : "utf8"),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
