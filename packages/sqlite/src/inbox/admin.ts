import { setImmediate as nextTurn } from "node:timers/promises";
import { assertValid } from "@svc-webhooks/core/adapter";
import { assertQuery, releaseLetters } from "@svc-webhooks/core/engine";
import type { InboxAdmin, InboxEntry } from "@svc-webhooks/core/inbox";
import type { Connection } from "../connection/connection.js";
import type { Jobs, NumberedEntry } from "./jobs.js";

/** Returns the functions for operators. The id of a job is its key. */
export function adminOf(
  jobs: Jobs,
  connection: Connection,
  {
    isOrdered,
    changed,
    onDiscard,
  }: {
    readonly isOrdered: boolean;
    readonly changed: () => void;
    readonly onDiscard: ((entry: InboxEntry, reason: string) => unknown) | undefined;
  },
): InboxAdmin {
  const read = async <Result>(step: () => Result) => connection.read(step, undefined);
  const change = async (step: () => boolean) => {
    const isChanged = await connection.write(step, undefined);
    if (isChanged) changed();
    return isChanged;
  };

  /** Yields jobs after a number, in the order of acceptance. Reads them in pages. */
  async function* entries(page: (after: number) => readonly NumberedEntry[], after: number) {
    for (let last = after; ;) {
      const found = await read(() => page(last));
      if (found.length === 0) return;
      for (const { seq, entry } of found) {
        last = seq;
        yield entry;
      }
      // A long list does not block the process.
      await nextTurn();
    }
  }
  const dead = (until: number, after = 0) => entries((last) => jobs.dead(last, until), after);

  async function* letters(type: string | undefined) {
    for await (const entry of dead(Date.now())) {
      if (type === undefined || entry.type === type) yield entry;
    }
  }

  const retry = (id: string) => change(() => jobs.retry(id));
  const countFailed = (released: readonly string[]) =>
    read(() => released.map((id) => jobs.get(id)?.entry).filter(hasFailed).length);

  const admin: InboxAdmin = {
    stats: () => read(() => jobs.stats(isOrdered)),
    async *list(query) {
      assertQuery(query);
      const { state, type, after, limit = Infinity } = query;
      const start = after === undefined ? 0 : (await read(() => jobs.get(after)))?.seq;
      assertValid(
        start !== undefined,
        "query.after",
        "The job `after` is no longer in this list. List again without `after`.",
      );
      let left = limit;
      if (left === 0) return;
      const all =
        state === "dead" ? dead(Number.MAX_SAFE_INTEGER, start) : entries(jobs.living, start);
      for await (const entry of all) {
        if (entry.state !== state || (type !== undefined && entry.type !== type)) continue;
        yield entry;
        if ((left -= 1) === 0) return;
      }
    },
    get: async (id) => (await read(() => jobs.get(id)))?.entry,
    retry,
    async discard(id, reason) {
      const entry = await admin.get(id);
      if (!entry || !(await change(() => jobs.discard(id)))) return false;
      await onDiscard?.(entry, reason);
      return true;
    },
    release: (options) => releaseLetters(letters, retry, countFailed, options),
  };
  return admin;
}

const hasFailed = (entry: InboxEntry | undefined): boolean =>
  entry !== undefined && (entry.state === "dead" || entry.attempts > 0);
