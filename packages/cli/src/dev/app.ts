import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Failure, messageOf } from "../errors.js";
import type { Output } from "../paint.js";
import type { LogLines } from "./log-lines.js";
import { portsOf, treeOf } from "./processes.js";

/** The polling interval for the app's port, in milliseconds. */
const lookMs = 100;

/** How long the app may take to exit after SIGTERM, in milliseconds. */
const graceMs = 5_000;

export interface App {
  /** Resolves when the app has exited, with a text such as `exit code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  /**
   * Resolves when something accepts connections at the URL's address.
   *
   * @throws Failure (as a rejection) `app_ended`, or `app_not_listening` after `waitMs`
   */
  readonly listens: (url: URL, waitMs: number, signal: AbortSignal) => Promise<void>;
  /** Stops the app and all processes that it started. Resolves when the app has exited. */
  readonly stop: () => Promise<void>;
}

export interface AppOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The outputs that the app's stdout and stderr are copied to. */
  readonly stdout: Output;
  readonly stderr: Output;
  readonly log: LogLines;
}

/**
 * Starts the app.
 *
 * @throws Failure (as a rejection) `app_not_started` if there is no such program
 */
export async function startApp({ command, env, stdout, stderr, log }: AppOptions): Promise<App> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { env, stdio: ["inherit", "pipe", "pipe"] });
  for (const [from, to] of [
    [child.stdout, stdout],
    [child.stderr, stderr],
  ] as const) {
    const read = log.reader();
    from.setEncoding("utf8").on("data", (text: string) => {
      to.write(text);
      read(text);
    });
  }
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Failure(
      "app_not_started",
      `${program} could not be started: ${messageOf(error)}.`,
      "Write the command that starts your app after --, such as -- node app.mjs.",
    );
  }
  const { pid = 0 } = child;
  let end: string | undefined;
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]) => {
    end = signal === null ? `exit code ${code}` : `${signal}`;
    return end;
  });
  return {
    ended,
    async listens(url, waitMs, signal) {
      for (let waited = 0; waited < waitMs; waited += lookMs) {
        if (await isOpen(url)) return;
        if (end !== undefined) {
          const text = `The app ended with ${end} before it listened on port ${portOf(url)}.`;
          throw new Failure("app_ended", text, "Its output is above.");
        }
        await pause(lookMs, undefined, { signal });
      }
      throw notListening(portOf(url), waitMs, portsOf(pid));
    },
    async stop() {
      if (end !== undefined) return;
      const all = treeOf(pid);
      kill(all, "SIGTERM");
      const timer = setTimeout(() => kill(all, "SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function kill(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already exited.
    }
  }
}

function notListening(port: number, waitMs: number, others: readonly number[]): Failure {
  const [other] = others;
  const seen = other === undefined ? "" : ` It listens on port ${others.join(" and ")}.`;
  const text = `The app does not listen on port ${port} after ${waitMs / 1_000} s.${seen}`;
  const change = other === undefined ? "" : `, or pass --to http://localhost:${other}/webhooks`;
  const fix = `Let it listen on process.env.PORT${change}.`;
  return new Failure("app_not_listening", text, fix);
}

/** Returns the port of a URL. */
export const portOf = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === "https:" ? 443 : 80);

/** Returns whether something accepts connections at the address of a URL. */
export async function isOpen(url: URL): Promise<boolean> {
  const socket = connect({ host: url.hostname.replaceAll(/[[\]]/g, ""), port: portOf(url) });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
