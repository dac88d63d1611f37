import { execFile, spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Readable } from "node:stream";
import { afterAll, onTestFinished } from "vitest";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The npm scope of the workspace's packages. */
export const scope = "@svc-webhooks";

/** A directory outside the workspace, so that nothing resolves by accident. Removed after the tests. */
export function outsideDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "svc-webhooks-")));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a program until it exits. Rejects after 20 s. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env }: RunOptions,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout: 20_000, maxBuffer: 2 ** 26 };
    execFile(program, args, options, (error, stdout, stderr) => {
      const exitCode = error ? error.code : 0;
      if (typeof exitCode === "number") resolve({ exitCode, stdout, stderr });
      else
        reject(
          new Error(`${program} did not exit by itself: ${stdout}${stderr}`, { cause: error }),
        );
    });
  });
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
  // `stdio` makes it a pipe.
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
