import type { Jobs } from "./jobs.js";
import type { Room } from "./room.js";

const dayMs = 86_400_000;

/** The triggers of `schema.sql`. */
const triggers = ["settle", "settle_update", "next", "skip"].map((name) => `svc_webhooks_${name}`);

/** Returns one text for each condition that endangers the jobs of a queue. */
export function checkJobs(
  jobs: Jobs,
  room: Room,
  { queue, reserveBytes }: { readonly queue: string; readonly reserveBytes: number },
): readonly string[] {
  const problems: string[] = [];
  const existing = new Set(jobs.triggers());
  const missing = triggers.filter((trigger) => !existing.has(trigger));
  if (missing.length > 0) {
    problems.push(
      `The database lacks the trigger ${missing.join(" and ")}: jobs of events that are done stay in the queue until a worker finds them, and later events of a key may wait. Some tools split schema.sql at semicolons, which breaks triggers. Run the whole file again, with \`db.exec\`.`,
    );
  }
  const free = room.freeBytes();
  if (free < reserveBytes * 4) {
    problems.push(
      `The disk of the database has ${free} free bytes. Below \`reserveBytes\` (${reserveBytes}), deliveries are refused. Free space on the disk.`,
    );
  }
  if (Date.now() - jobs.oldestDeadAt() > dayMs) {
    problems.push(
      `The queue "${queue}" has dead letters that are older than a day. Release or discard them.`,
    );
  }
  return problems;
}
