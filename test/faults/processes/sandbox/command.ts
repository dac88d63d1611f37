import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NotStartedError } from "@svc-webhooks/kit/setup-errors";
import { collected } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";

const main = join(root, "tools/sandbox/dist/main.js");

/** The sandbox's command. It runs as one process after another on the same data file. */
export interface Command {
  /** The base URL of the running process, or undefined if none is running. */
  readonly url: string | undefined;
  readonly pid: number | undefined;
  /** Starts the next process. `ready` resolves with its URL once it has printed it. */
  readonly start: () => { readonly ready: Promise<string> };
  /** Sends the signal, and resolves with the exit code when the process has exited. */
  readonly stop: (signal: "SIGKILL" | "SIGTERM") => Promise<number | null>;
  /** The stderr output of all processes. */
  readonly stderr: () => string;
}

export function command(script: string, args: readonly string[]): Command {
  let child: ChildProcess | undefined;
  let url: string | undefined;
  const outputs: (() => string)[] = [];
  const stderr = () => outputs.map((output) => output()).join("");
  return {
    get url() {
      return url;
    },
    get pid() {
      return child?.pid;
    },
    stderr,
    start() {
      const started = spawn(process.execPath, [script, "--port", "0", ...args], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = started;
      const output = collected(started.stderr);
      outputs.push(output);
      const first = async () => {
        for await (const line of createInterface(started.stdout)) {
          const found = /http:\S+$/.exec(line)?.[0];
          if (found === undefined) continue;
          if (child === started) url = found;
          return found;
        }
        throw new NotStartedError(`The sandbox ended before its first line: ${output()}`);
      };
      const ready = first();
      // A process that is killed while it starts never prints its URL.
      ready.catch(() => {});
      return { ready };
    },
    async stop(signal) {
      const ending = child;
      url = undefined;
      child = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return null;
      const exited = once(ending, "close") as Promise<[number | null]>;
      ending.kill(signal);
      return (await exited)[0];
    },
  };
}

/**
 * Returns the path of the built command, or of a copy that writes to its data file only after the response, 50 ms late.
 */
export function builtCommand(writes: "before the response" | "later"): string {
  if (writes === "before the response") return main;
  const source = readFileSync(main, "utf8");
  const late = source.replace(
    "journal.write(stored(written))",
    "setTimeout(() => journal.write(stored(written)), 50)",
  );
  if (late === source) throw new Error("The sandbox writes its journal in another way now.");
  const folder = fileURLToPath(new URL("../.build/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "late-sandbox.js");
  writeFileSync(file, late);
  return file;
}
