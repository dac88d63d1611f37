import { setTimeout as pause } from "node:timers/promises";
import { endTree, hasGroups, signalProcess } from "../dev/group.js";
import { processesOf, processesWith } from "../dev/processes.js";

/** The environment variable that marks all processes of a run, even those that leave their group. */
export const markVariable = "SVC_WEBHOOKS_CRASH_TEST";

/** Sends a signal to a process that was started with `detached: hasGroups`, and to its group and session. */
export function signalTo(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  if (!hasGroups && signal === "SIGKILL") endTree(pid);
  const targets = hasGroups ? [-pid, ...(processesOf(pid) ?? [])] : [pid];
  for (const target of targets) signalProcess(target, signal);
}

/** Ends all processes of a session with SIGKILL. On Linux, resolves when none is left. */
export async function endSession(pid: number): Promise<void> {
  // Repeats the signal, because a process that started in the meantime may have missed it.
  do {
    signalTo(pid, "SIGKILL");
    await pause(5);
  } while ((processesOf(pid) ?? []).length > 0);
}

/** Ends the processes that carry the mark of a run, even if they have left their group. Has an effect only on Linux. */
export function killMarked(mark: string): void {
  for (const id of processesWith(markVariable, mark)) signalProcess(id, "SIGKILL");
}
