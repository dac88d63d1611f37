import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { hasGroups } from "../dev/group.js";
import { isOpen } from "../dev/app.js";
import { portOf } from "../lib/target-rule.js";
import { hostAndPort, listenersOf, processesOf } from "../dev/processes.js";
import { excerpt } from "../lib/terminal/text.js";
import { endSession, signalTo } from "./ending.js";
import { notRun } from "./not-run.js";
import type { Watcher } from "./watcher.js";

/** How long a server may take to listen, in milliseconds. */
const startMs = 30_000;

/** How long a port may stay open after its server has exited, in milliseconds. */
const releaseMs = 2_000;

/** The maximum lengths of the output that is kept, of its last lines that are shown, and of a line, in characters. */
const mostOutput = 16_000;
const mostShown = 700;
const longestLine = 200;

/** A server under test. */
export interface ServerProcess {
  readonly letter: string;
  readonly url: URL;
  readonly isAlive: () => boolean;
  /** Resolves when the main process has exited, with a text such as `exit code 1`. */
  readonly ended: Promise<string>;
  /** Returns the last lines that the server printed, without control characters and secrets. */
  readonly lastLines: () => readonly string[];
  /** Sends a signal to all processes of the server. */
  readonly send: (signal: NodeJS.Signals) => void;
  /** Ends all processes with SIGKILL. Resolves when they have exited. */
  readonly kill: () => Promise<void>;
}

export interface ServerOptions {
  readonly letter: string;
  readonly command: string;
  /** The URL of the receiver, with the port of this server. */
  readonly url: URL;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
  /** Called if the test cannot continue, because something still listens on the port after this server was killed. */
  readonly fail: (error: Error) => void;
}

const first = 22_000;
const count = 10_000;

/** Resolves to a free port below the range from which the system assigns ports to connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
      server.close();
      await once(server, "close");
      return port;
    } catch {
      // The port is in use, so another one is tried.
    }
  }
}

/**
 * Starts a server in a group of its own. Resolves when it accepts connections.
 *
 * @throws Failure (as a rejection) `port_in_use`, `server_ended` or `server_not_listening`
 */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { letter, command, url, env, signal, watcher, fail } = options;
  signal.throwIfAborted();
  const port = String(portOf(url));
  if (!(await isReleased(url))) throw portInUse(port);
  signal.throwIfAborted();
  const child = spawn(command.replaceAll("{port}", port), {
    shell: true,
    detached: hasGroups,
    env: { ...env, PORT: port },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid !== undefined) watcher.add(`session ${pid}`);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-mostOutput);
    });
  }
  child.on("error", () => {});
  let end: string | undefined;
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, name) => resolve((end = name ?? `exit code ${code}`)));
    child.once("error", (error) => resolve((end = error.message)));
  });
  const server: ServerProcess = {
    letter,
    url,
    ended,
    isAlive: () => end === undefined,
    lastLines: () => lastOf(output),
    send: (name) => signalTo(pid, name),
    async kill() {
      signalTo(pid, "SIGKILL");
      await ended;
      if (pid !== undefined) {
        await endSession(pid);
        watcher.remove(`session ${pid}`);
      }
      child.stdout.destroy();
      child.stderr.destroy();
      if (!(await isReleased(url))) fail(notEnded(port));
    },
  };
  try {
    await listens();
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;

  async function listens(): Promise<void> {
    const start = performance.now();
    while (!(await isOpen(url))) {
      if (end !== undefined) {
        throw notRun(
          "server_ended",
          `The server ended with ${end} before it listened on port ${port}.`,
          printedText(server.lastLines()),
        );
      }
      if (performance.now() - start > startMs) {
        throw notRun(
          "server_not_listening",
          `The server did not listen on port ${port} within ${startMs / 1_000} s.${elsewhereText(pid)}`,
          `Make it listen on 127.0.0.1, on the port in the variable PORT, or write {port} where --start needs the port. ${printedText(server.lastLines())}`,
        );
      }
      await pause(50, undefined, { signal });
    }
  }
}

/** Resolves to true when nothing listens at a URL's address, or to false if something still does after `releaseMs`. */
async function isReleased(url: URL): Promise<boolean> {
  const start = performance.now();
  while (await isOpen(url)) {
    if (performance.now() - start > releaseMs) return false;
    await pause(50);
  }
  return true;
}

const portInUse = (port: string) =>
  notRun(
    "port_in_use",
    `Another program listens on port ${port}, so it would get the deliveries in place of the server that this command starts.`,
    "Stop that program, or let the server listen on the port in the variable PORT and write {port} in --url: http://127.0.0.1:{port}/webhooks.",
  );

const notEnded = (port: string) =>
  notRun(
    "server_not_ended",
    `A process still listens on port ${port} after all processes of the server's session were killed, so the fault crash cannot be tried.`,
    'Start the server in the foreground, in the session of the command: --start "exec node server.js", without setsid, nohup or a service manager.',
  );

/** Matches a line of a stack trace of Node, Java or .NET, and a line such as `... 12 more`. */
const stackFrame = /^\s+(?:at \S|\.\.\. \d+ )/;

/**
 * Returns the last lines of an output, up to `mostShown` characters. Keeps only the first frame of each stack trace, so
 * that the error's message is probably among the lines.
 */
export function lastOf(output: string): readonly string[] {
  const lines = output
    .split("\n")
    .filter((line, index, all) => !(stackFrame.test(line) && stackFrame.test(all[index - 1] ?? "")))
    .map((line) => excerpt(line, longestLine));
  const last: string[] = [];
  let length = 0;
  for (const line of lines.filter((text) => text !== "").toReversed()) {
    length += line.length + 3;
    if (length > mostShown) break;
    last.unshift(line);
  }
  return last;
}

/** Returns a sentence with the last lines of a server, for an error. */
export const printedText = (lines: readonly string[]): string =>
  lines.length === 0 ? "It printed nothing." : `Its last lines: ${lines.join(" | ")}`;

/** Returns a sentence that states where a server listens instead, or an empty string if this is unknown. */
function elsewhereText(pid: number | undefined): string {
  const all = pid === undefined ? [] : listenersOf(processesOf(pid) ?? []);
  const places = new Set(all.map(hostAndPort));
  return places.size === 0 ? "" : ` It listens on ${Array.from(places).join(" and ")}.`;
}
