import {
  execFile,
  spawn,
  type ChildProcess,
  type ExecFileException,
  type SpawnOptions,
} from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { afterAll, onTestFinished, TestRunner } from "vitest";
import { root } from "./root.js";

export { root };

/** The npm scope of the workspace's packages. */
export const scope = "@svc-webhooks";

/**
 * Creates a directory outside the workspace, so that nothing resolves by accident. It is removed after the
 * tests.
 */
export function outsideDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "svc-webhooks-")));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The options of a test that runs other tests, each with a limit of its own. */
export const withoutLimit = { timeout: 0 };

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs a program until it exits, however long that takes on a busy machine. If it is still running when its
 * test ends or times out, it is killed and the test fails with its output.
 */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env }: RunOptions,
): Promise<Ended> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 };
  const running = promisify(execFile)(program, args, options);
  const ended = running.then(
    (output) => ({ exitCode: 0, ...output }),
    (error: ExecFileException) => {
      const { code, stdout = "", stderr = "" } = error;
      if (typeof code === "number") return { exitCode: code, stdout, stderr };
      const text = `${program} did not exit by itself: ${stdout}${stderr}`;
      throw new Error(text, { cause: error });
    },
  );
  // Files also run programs before their tests.
  if (TestRunner.getCurrentTest()) {
    onTestFinished(async () => {
      running.child.kill("SIGKILL");
      await ended;
    });
  }
  return ended;
}

/**
 * Returns what a program has printed.
 *
 * @throws Error with its output if it failed
 */
export function outputOf({ exitCode, stdout, stderr }: Ended): string {
  if (exitCode !== 0) throw new Error(`A program exited with ${exitCode}: ${stdout}${stderr}`);
  return stdout;
}

export const node = (args: readonly string[], options: RunOptions): Promise<Ended> =>
  run(process.execPath, args, options);

/** A process with a channel for messages. Its output can be read; its errors are printed. */
export type Child = ChildProcess & { readonly stdout: Readable };

/** Runs the source of a module in its own process, until it exits or the test ends. */
export function startModule(
  source: string,
  options: Pick<SpawnOptions, "serialization"> = {},
): Child {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    ...options,
    cwd: root,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  // `stdio` makes this stream a pipe.
  return child as Child;
}

/** A TypeScript compiler, by its name in the root's devDependencies. */
export type Compiler = "typescript" | "typescript5";

/** Runs a compiler by its path, because `.bin/tsc` is the one that npm linked last. */
export const tsc = (
  compiler: Compiler,
  args: readonly string[],
  options: RunOptions,
): Promise<Ended> =>
  node([join(root, "node_modules", compiler, "bin/tsc"), "--pretty", "false", ...args], options);
