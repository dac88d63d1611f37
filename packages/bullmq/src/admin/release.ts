import { releaseLetters } from "@svc-webhooks/core/engine";
import type { InboxAdmin, ReleaseOptions } from "@svc-webhooks/core/inbox";
import type { Reach } from "../queue/connection.js";
import type { QueueLike } from "../queue-like.js";

/** The maximum number of job states to request from the queue in one batch. */
const batchSize = 1_000;

/** Runs dead letters again, one after the other, within the limits that `options` sets. */
export function release(
  queue: QueueLike,
  reach: Reach,
  { list, retry }: Pick<InboxAdmin, "list" | "retry">,
  options: ReleaseOptions,
): ReturnType<InboxAdmin["release"]> {
  const failed = new Set<string>();
  /** The released jobs that need no further check: they are done, removed, or have failed again. */
  const settled = new Set<string>();
  const countFailed = async (released: readonly string[]) => {
    const unknown = released.filter((id) => !settled.has(id));
    for (let start = 0; start < unknown.length; start += batchSize) {
      const ids = unknown.slice(start, start + batchSize);
      const states = await reach(Promise.all(ids.map((id) => queue.getJobState(id))));
      for (const [index, id] of ids.entries()) {
        const state = states[index];
        if (state === "failed" || state === "delayed") failed.add(id);
        if (!["waiting", "prioritized", "active"].includes(String(state))) settled.add(id);
      }
    }
    return failed.size;
  };
  // `list` reads all ids before the first letter runs again, so a letter that dies again is not released twice.
  const letters = (type: string | undefined) => list({ state: "dead", type });
  return releaseLetters(letters, retry, countFailed, options);
}
