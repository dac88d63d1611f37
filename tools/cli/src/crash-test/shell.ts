import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate as immediate, setTimeout as pause } from "node:timers/promises";
import { hasGroups } from "../dev/group.js";
import { signalTo } from "./ending.js";
import { notRun } from "./not-run.js";
import type { Watcher } from "./watcher.js";

/** How long to wait for the end of the output after the command has exited, in milliseconds. */
const drainMs = 200;

/**
 * Runs a command of the user in a shell. Resolves to its stdout when the command has exited, even if a process that it
 * started still holds the output open.
 *
 * @throws Failure (as a rejection) `command_failed` unless the command exits with 0
 */
export async function runShell(
  flag: string,
  command: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  watcher: Watcher,
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(command, {
    shell: true,
    detached: hasGroups,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const kill = () => signalTo(pid, "SIGKILL");
  if (pid !== undefined) watcher.add(`session ${pid}`);
  signal.addEventListener("abort", kill);
  try {
    const closed = once(child, "close").catch(() => {});
    const [code] = (await once(child, "exit")) as [number | null];
    // `immediate` lets Node read output that has already arrived, even if this process was busy during the pause.
    await Promise.race([closed, pause(drainMs).then(() => immediate())]);
    signal.throwIfAborted();
    if (code === 0) return output.stdout;
    throw notRun(
      "command_failed",
      `The command in ${flag} ended with exit code ${code}.`,
      `Run the command on its own to find the cause. Its output: ${(output.stderr || output.stdout).trim().slice(-2_000)}`,
    );
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
    child.stdout.destroy();
    child.stderr.destroy();
    if (pid !== undefined) watcher.remove(`session ${pid}`);
  }
}
