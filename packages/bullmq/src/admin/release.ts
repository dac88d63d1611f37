import { setTimeout } from "node:timers/promises";
import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { InboxAdmin, ReleaseOptions } from "@svc-webhooks/core/inbox";
import type { QueueLike } from "../queue-like.js";
import { within } from "../queue/within.js";

/** How often the states of the released jobs are read, in milliseconds. */
const watchEveryMs = 200;

/** The number of states that are read at a time. */
const batchSize = 1_000;

/** Runs dead letters again, one after the other, until the limit or until too many have failed again. */
export async function release(
  queue: QueueLike,
  admin: Pick<InboxAdmin, "list" | "retry">,
  options: ReleaseOptions,
): Promise<{ readonly released: number; readonly failedAgain: number }> {
  assertOptions(options, ["perSecond", "limit", "stopAfter", "type", "signal"]);
  const { perSecond, limit = Infinity, stopAfter = Infinity, type, signal } = options;
  assertValid(
    perSecond >= 0.001 && perSecond <= 1_000,
    "perSecond",
    "`perSecond` must be a number from 0.001 to 1,000.",
  );
  for (const [option, value] of Object.entries({ limit, stopAfter })) {
    assertValid(value >= 1, option, `\`${option}\` must be a number from 1.`);
  }
  let released = 0;
  const failed = new Set<string>();
  /** The released jobs that have not failed again, as far as is known. */
  const watched = new Set<string>();
  let watchedAt = -Infinity;
  const watch = async () => {
    watchedAt = performance.now();
    const all = [...watched];
    for (let at = 0; at < all.length; at += batchSize) {
      const ids = all.slice(at, at + batchSize);
      const states = await within(Promise.all(ids.map((id) => queue.getJobState(id))));
      for (const [index, id] of ids.entries()) {
        const state = states[index];
        if (state === "failed" || state === "delayed") failed.add(id);
        if (state !== "waiting" && state !== "active") watched.delete(id);
      }
    }
  };
  const began = performance.now();
  for await (const { id } of admin.list({ state: "dead", type })) {
    await pause(began + (released * 1_000) / perSecond - performance.now(), signal);
    if (released >= limit || signal?.aborted) break;
    if (performance.now() - watchedAt >= watchEveryMs) await watch();
    if (failed.size >= stopAfter) break;
    if (!(await admin.retry(id))) continue;
    released += 1;
    watched.add(id);
  }
  await watch();
  return { released, failedAgain: failed.size };
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  setTimeout(Math.max(0, ms), undefined, { signal }).catch(() => {});
