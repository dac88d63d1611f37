import { spawnSync, type ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { exists, processesOf } from "./processes.js";

/** The interval at which the processes are checked until they have exited, in milliseconds. */
const lookMs = 50;

/** How long the processes may take to exit after SIGTERM, and after SIGKILL, in milliseconds. */
const graceMs = { SIGTERM: 5_000, SIGKILL: 1_000 };

/** Whether a process can be started in a group of its own. On Windows, it would get a console window instead. */
export const hasGroups: boolean = process.platform !== "win32";

/**
 * A process that was started with `detached: hasGroups`, and all processes of its session, which `detached` creates
 * (except on Windows). A process that starts a session of its own, such as a browser, leaves the group.
 */
export interface Group {
  /**
   * Ends all processes. The main process gets SIGTERM first, because package managers pass it on, and the others get it
   * when the main process has exited. The processes that outlast the grace period get SIGKILL. On Windows, all are
   * ended immediately.
   */
  readonly end: () => Promise<void>;
  /** Ends the grace period between SIGTERM and SIGKILL early. */
  readonly hurry: () => void;
  readonly suspend: () => void;
  readonly resume: () => void;
}

export function groupOf(main: ChildProcess): Group {
  const { pid = 0 } = main;
  const hurried = new AbortController();
  const hasExited = () => main.exitCode !== null || main.signalCode !== null;
  const isEmpty = () => hasExited() && targets().length === 0;

  /** Returns the ids of the running processes, or the negative id of their group if they cannot be listed. */
  function targets(): readonly number[] {
    // While the session has processes, its id is reserved. A new process with this id shows that the session is empty.
    if (!hasGroups || (hasExited() && exists(pid))) return [];
    return processesOf(pid) ?? (exists(-pid) ? [-pid] : []);
  }

  function send(signal: NodeJS.Signals): void {
    for (const target of targets()) signalProcess(target, signal);
  }

  return {
    async end() {
      const patience = AbortSignal.any([hurried.signal, AbortSignal.timeout(graceMs.SIGTERM)]);
      if (!hasGroups && !hasExited()) endTree(pid);
      main.kill("SIGTERM");
      await until(hasExited, patience);
      if (!patience.aborted) send("SIGTERM");
      await until(isEmpty, patience);
      await until(isEmpty, AbortSignal.timeout(graceMs.SIGKILL), () => {
        main.kill("SIGKILL");
        send("SIGKILL");
      });
    },
    hurry: () => hurried.abort(),
    suspend: () => send("SIGSTOP"),
    resume: () => send("SIGCONT"),
  };
}

/** Resolves when the condition is true or the limit is aborted. Until then, calls `act` repeatedly. */
async function until(condition: () => boolean, limit: AbortSignal, act = () => {}) {
  while (!condition() && !limit.aborted) {
    act();
    await pause(lookMs);
  }
}

/** On Windows, ends a process and all processes that it started, such as the program behind a batch file. */
export function endTree(pid: number): void {
  spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore" });
}

/** Sends a signal to a process, or to a group if the id is negative. */
export function signalProcess(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // Ignores the error: the process has exited, or belongs to another user.
  }
}
