import { assertValid } from "@svc-webhooks/core/adapter";
import { assertQuery, releaseLetters } from "@svc-webhooks/core/engine";
import type { InboxAdmin } from "@svc-webhooks/core/inbox";
import type { MemoryQueue } from "./memory-queue.js";

/** Returns the functions with which an operator manages the jobs of an inbox in memory. */
export function adminOf(queue: MemoryQueue): InboxAdmin {
  const admin: InboxAdmin = {
    stats: async () => queue.stats(),
    async *list(query) {
      assertQuery(query);
      const { state, type, after, limit = Infinity } = query;
      const entries = queue.entries();
      const start = entries.findIndex(({ id }) => id === after) + 1;
      assertValid(
        after === undefined || start > 0,
        "query.after",
        "The job `after` is no longer in this list. List again without `after`.",
      );
      const matching = entries
        .slice(start)
        .filter((entry) => entry.state === state && (type === undefined || entry.type === type));
      yield* matching.slice(0, limit);
    },
    get: async (id) => queue.entry(id),
    retry: async (id) => queue.revive(id) || queue.hasten(id),
    discard: async (id) => queue.discard(id),
    release: (options) => releaseLetters(letters, retry, countFailed, options, queue.clock),
  };
  const letters = (type: string | undefined) => admin.list({ state: "dead", type });
  const retry = (id: string) => admin.retry(id);
  const countFailed = (released: readonly string[]) =>
    released.filter((id) => ["delayed", "dead"].includes(queue.entry(id)?.state ?? "")).length;
  return admin;
}
