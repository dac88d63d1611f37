import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "vitest";
import { outputFrom } from "./collected.js";
import { root } from "./programs.js";

export interface Story {
  /** Signals the whole group, as Ctrl+C does. */
  readonly interrupt: () => void;
  /** Signals only the demo's own process. */
  readonly terminate: () => void;
  /** Kills the demo's own process, so that it cannot end the others. */
  readonly kill: () => void;
  /** Resolves when this text was printed. */
  readonly printed: (text: string) => Promise<void>;
  /** Resolves when every process of the demo has exited. */
  readonly ended: () => Promise<{
    readonly exitCode: number | null;
    readonly stdout: string;
    readonly stderr: string;
    /** The files left in the demo's temporary folder. */
    readonly leftBehind: readonly string[];
  }>;
}

/** Starts the demo of an example in its own process group, as a terminal does. */
export function startStory(
  { onTestFinished }: TestContext,
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Story {
  const folder = mkdtempSync(join(tmpdir(), "story-"));
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, TMPDIR: folder, ...env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} did not start.`);
  const signalAll = (signal: NodeJS.Signals) => process.kill(-pid, signal);
  const output = outputFrom(child);
  const lines = createInterface(child.stdout);
  // `close` is emitted only after every process that inherited the output has exited.
  const closed = once(child, "close") as Promise<[number | null]>;
  onTestFinished(() => {
    if ((child.exitCode ?? child.signalCode) === null) signalAll("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  return {
    interrupt: () => void signalAll("SIGINT"),
    terminate: () => void child.kill(),
    kill: () => void child.kill("SIGKILL"),
    printed: async (text: string) => {
      while (!output.stdout.includes(text)) await once(lines, "line");
    },
    ended: async () => {
      const [exitCode] = await closed;
      return { exitCode, ...output, leftBehind: readdirSync(folder) };
    },
  };
}
