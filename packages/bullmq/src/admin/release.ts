import { releaseLetters } from "@svc-webhooks/core/engine";
import type { InboxAdmin, ReleaseOptions } from "@svc-webhooks/core/inbox";
import type { Reach } from "../queue/connection.js";
import type { QueueLike } from "../queue-like.js";

/** The number of states that are read at a time. */
const batchSize = 1_000;

/** Runs dead letters again, one after the other, until the limit or until too many have failed again. */
export function release(
  queue: QueueLike,
  reach: Reach,
  { list, retry }: Pick<InboxAdmin, "list" | "retry">,
  options: ReleaseOptions,
): ReturnType<InboxAdmin["release"]> {
  const failed = new Set<string>();
  /** The released jobs that are done, or have failed again. */
  const settled = new Set<string>();
  const countFailed = async (released: readonly string[]) => {
    const unknown = released.filter((id) => !settled.has(id));
    for (let at = 0; at < unknown.length; at += batchSize) {
      const ids = unknown.slice(at, at + batchSize);
      const states = await reach(Promise.all(ids.map((id) => queue.getJobState(id))));
      for (const [index, id] of ids.entries()) {
        const state = states[index];
        if (state === "failed" || state === "delayed") failed.add(id);
        if (!["waiting", "prioritized", "active"].includes(String(state))) settled.add(id);
      }
    }
    return failed.size;
  };
  // The ids of all letters are read before the first one runs again.
  const letters = (type: string | undefined) => list({ state: "dead", type });
  return releaseLetters(letters, retry, countFailed, options);
}
