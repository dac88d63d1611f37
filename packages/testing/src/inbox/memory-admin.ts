import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { InboxAdmin } from "@svc-webhooks/core/inbox";
import type { MemoryQueue } from "./memory-queue.js";

/** Returns the operator's functions of an inbox in memory. */
export function adminOf(queue: MemoryQueue): InboxAdmin {
  const { clock } = queue;
  /** Resolves after `ms`, or as soon as the signal is aborted. */
  const pause = (ms: number, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve) => {
      const cancel = clock.after(ms, resolve);
      signal?.addEventListener("abort", () => (cancel(), resolve()), { once: true });
    });

  return {
    stats: async () => queue.stats(),
    async *list(query) {
      assertOptions(query, ["state", "type", "after", "limit"], "query");
      const { state, type, after, limit = Infinity } = query;
      assertValid(
        ["ready", "delayed", "active", "dead"].includes(state),
        "query.state",
        '`state` must be "ready", "delayed", "active" or "dead".',
      );
      const entries = queue.entries();
      const start = entries.findIndex(({ id }) => id === after) + 1;
      assertValid(
        after === undefined || start > 0,
        "after",
        "The job `after` is no longer in this list. List again without `after`.",
      );
      const matching = entries
        .slice(start)
        .filter((entry) => entry.state === state && (type === undefined || entry.type === type));
      yield* matching.slice(0, limit);
    },
    get: async (id) => queue.entry(id),
    retry: async (id) => queue.revive(id),
    discard: async (id) => queue.discard(id),
    async release(options) {
      assertOptions(options, ["perSecond", "limit", "stopAfter", "type", "signal"]);
      const { perSecond, limit = Infinity, stopAfter = Infinity, type, signal } = options;
      const isRate = typeof perSecond === "number" && perSecond > 0;
      assertValid(isRate, "perSecond", "`perSecond` must be a number above 0.");
      const released: string[] = [];
      const failedAgain = () =>
        released.filter((id) => ["delayed", "dead"].includes(queue.entry(id)?.state ?? "")).length;
      for (const { id, state, type: itsType } of queue.entries()) {
        if (state !== "dead" || (type !== undefined && itsType !== type)) continue;
        if (released.length >= limit) break;
        if (released.length > 0) await pause(1_000 / perSecond, signal);
        if (signal?.aborted || failedAgain() >= stopAfter) break;
        if (queue.revive(id)) released.push(id);
      }
      return { released: released.length, failedAgain: failedAgain() };
    },
  };
}
