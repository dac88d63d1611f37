import type { InboxAdmin, InboxState } from "@svc-webhooks/core/inbox";
import { loadAdmin, queueFailure, queueTimeout } from "../lib/inbox-admin.js";
import { withPatience } from "../lib/patience.js";

/** The states to list, in order. Some are listed twice, to find a job that changes its state in the meantime. */
const states: readonly InboxState[] = ["delayed", "ready", "active", "delayed", "ready", "dead"];

/** Reads the delivery ids of all jobs of a queue. */
export type ReadJobs = () => Promise<ReadonlySet<string>>;

/**
 * Imports the queue of `--admin`, and resolves to a function that lists the jobs of all states. It rejects if the queue
 * fails or returns no job for 30 s, and after Ctrl-C.
 */
export async function loadJobs(file: string, signal: AbortSignal): Promise<ReadJobs> {
  const admin = await loadAdmin(file, signal);
  return () =>
    withPatience(
      signal,
      () => queueTimeout(file),
      (refresh) =>
        idsOf(admin, refresh).catch((error: unknown) => {
          throw queueFailure(error, file);
        }),
    );
}

async function idsOf(admin: InboxAdmin, onJob: () => void): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const state of states) {
    for await (const { deliveryId } of admin.list({ state })) {
      ids.add(deliveryId);
      onJob();
    }
  }
  return ids;
}
