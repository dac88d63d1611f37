import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The workspace's packages have names in this scope. */
export const scope = "@svc-webhooks";

/** A directory outside of the workspace, so that nothing resolves by accident. Gone after the tests. */
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

/** Runs a program to its end; fails if that does not come within 20 s. */
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
        reject(new Error(`${program} did not end by itself: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

export const node = (args: readonly string[], options: RunOptions): Promise<Ended> =>
  run(process.execPath, args, options);

/** A TypeScript by the name it has among our own dependencies. */
export type Compiler = "typescript" | "typescript5";

/** By its path: `.bin/tsc` is whichever compiler npm has linked last. */
export const tsc = (
  compiler: Compiler,
  args: readonly string[],
  options: RunOptions,
): Promise<Ended> =>
  node([join(root, "node_modules", compiler, "bin/tsc"), "--pretty", "false", ...args], options);
