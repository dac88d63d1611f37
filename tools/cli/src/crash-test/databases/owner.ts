import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { exists, linkAt, statOf } from "../../dev/processes.js";

/*
 * The owner of a database is the process that created it, identified by its machine or container, its id and its start
 * time. A later run uses the owner to recognize the databases that a killed run has left.
 */

/** The source of a pattern that matches owners. */
export const ownerPattern = "[0-9a-f]{6}_[0-9a-z]+_[0-9a-z]+";

const machine = (): string =>
  createHash("sha256")
    .update(`${hostname()} ${linkAt("/proc/self/ns/pid")}`)
    .digest("hex")
    .slice(0, 6);

/** Returns when a process started, in ticks since the system started, or 0 if this system does not show the time. */
const startOf = (pid: number): number => Number(statOf(pid)[19] ?? 0);

const ownerOf = (pid: number): string =>
  `${machine()}_${pid.toString(36)}_${startOf(pid).toString(36)}`;

/** Returns the name of this process as an owner. */
export const ownOwner = (): string => ownerOf(process.pid);

/** Returns whether an owner was a process of this machine that has exited. */
export function isDead(owner: string): boolean {
  const [where, pid = ""] = owner.split("_");
  if (where !== machine()) return false;
  const id = Number.parseInt(pid, 36);
  if (!exists(id)) return true;
  // If the start time differs, a later process has reused the id.
  return startOf(id) !== 0 && ownerOf(id) !== owner;
}
