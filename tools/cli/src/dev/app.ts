import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import spawn from "cross-spawn";
import { Failure, messageOf } from "../errors.js";
import { hostOf, portOf } from "../lib/target-rule.js";
import type { Output } from "../paint.js";
import { copyOutput } from "./copy-output.js";
import { groupOf, hasGroups } from "./group.js";
import { followJobControl } from "./job-control.js";
import type { LogLines } from "./log-lines.js";
import { notListening } from "./not-listening.js";
import { listenersOf, processesOf } from "./processes.js";

/** The polling interval for the app's port, in milliseconds. */
const lookMs = 100;

/** How long to wait for the end of the app's output after the app has exited, in milliseconds. */
const drainMs = 200;

export interface App {
  /**
   * Resolves to a text such as `exit code 1` or `SIGKILL` when the app has exited and its output has been copied.
   */
  readonly ended: Promise<string>;
  /** Returns whether a process still holds the app's output open. */
  readonly isHeld: () => boolean;
  /**
   * Resolves when something accepts connections at the URL's address.
   *
   * @throws Failure `app_ended`, or `app_not_listening` after `waitMs`, and the reason of `signal` (as rejections)
   */
  readonly listens: (url: URL, waitMs: number, signal: AbortSignal) => Promise<void>;
  /**
   * Ends the app and the processes of its session, even after the app has exited. Resolves when they have exited, or
   * 1 s after the first SIGKILL, and the app's output has been copied.
   */
  readonly stop: () => Promise<void>;
}

export interface AppOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The outputs that the app's stdout and stderr are copied to. */
  readonly stdout: Output;
  readonly stderr: Output;
  readonly log: LogLines;
  /** Aborted when the app must end without a grace period. */
  readonly urgent: AbortSignal | undefined;
}

/**
 * Starts the app in a process group of its own (except on Windows). Ctrl-C in a terminal then reaches the app only
 * through `stop`, and not twice.
 *
 * @throws Failure (as a rejection) `app_not_started` if the program cannot be started
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { stdout, stderr, log, urgent } = options;
  const child = await spawned(options);
  const group = groupOf(child);
  urgent?.addEventListener("abort", group.hurry);
  const leaveJobControl = followJobControl(group);
  const copies = [
    copyOutput(child.stdout, stdout, log.reader()),
    copyOutput(child.stderr, stderr, log.reader()),
  ];
  let isHeld = true;
  // Ignores errors, such as a failed signal to an app of another user. Without a listener, Node would throw them.
  child.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    child.once("close", () => {
      isHeld = false;
      resolve();
    });
  });
  const isCopying = () =>
    isHeld && urgent?.aborted !== true && copies.some((isWaiting) => isWaiting());
  /** Resolves when the app's output has been copied. Does not await the output of processes that outlive the app. */
  async function copied(): Promise<void> {
    do await Promise.race([closed, pause(drainMs, undefined, { ref: false })]);
    while (isCopying());
  }
  let end: string | undefined;
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    // On Windows, a program that does not exist causes an `error` event instead of `exit`.
    child.once("error", ({ code }: NodeJS.ErrnoException) => code === "ENOENT" && resolve(code));
  });
  const ended = exited.then(async (how) => {
    await copied();
    return (end = how);
  });
  return {
    ended,
    isHeld: () => isHeld,
    async listens(url, waitMs, signal) {
      const port = portOf(url);
      for (let waited = 0; waited < waitMs; waited += lookMs) {
        if (await isOpen(url)) return;
        if (end !== undefined) {
          const text = `The app ended with ${end} before it was listening on port ${port}.`;
          throw new Failure("app_ended", text, "Its output is above.");
        }
        await pause(lookMs, undefined, { signal });
      }
      throw notListening(url, port, waitMs, listenersOf(processesOf(child.pid ?? 0) ?? []));
    },
    async stop() {
      await group.end();
      leaveJobControl();
      await copied();
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

async function spawned({ command, env }: AppOptions) {
  const [program = "", ...args] = command;
  try {
    // Uses cross-spawn: on Windows, npm, npx and other package programs are batch files, which Node does not start.
    const child = spawn(program, args, {
      env,
      stdio: ["inherit", "pipe", "pipe"],
      detached: hasGroups,
    });
    await once(child, "spawn");
    return child as ChildProcessByStdio<null, Readable, Readable>;
  } catch (error) {
    throw new Failure(
      "app_not_started",
      `${program} could not be started: ${messageOf(error)}.`,
      "Write the command that starts your app after --, such as -- node app.mjs.",
    );
  }
}

/** Returns whether something accepts connections at the address of a URL. */
export async function isOpen(url: URL): Promise<boolean> {
  const socket = connect({ host: hostOf(url), port: portOf(url) });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
