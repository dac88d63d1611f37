import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/**
 * The lowest version that `@svc-webhooks/pg-boss` supports. pg-boss is not in the workspace, because it needs Node
 * 22.12.
 */
const pgBoss = "pg-boss@12.38.0";

export interface Installed {
  /** The URL of pg-boss's module. */
  readonly module: string;
  /** The path of a Node executable that runs pg-boss: the current one, or Node 24 if the current one is too old. */
  readonly node: string;
}

/** Installs pg-boss in a folder. */
export async function installPgBoss(folder: string): Promise<Installed> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isNew = major > 22 || (major === 22 && minor >= 12);
  const newer = ["--yes", "--package", "node@24"];
  const on = isNew ? [] : newer;
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
  await output("npx", [...on, "npm", "install", ...options, pgBoss], folder);
  return {
    module: pathToFileURL(join(folder, "node_modules/pg-boss/dist/index.js")).href,
    node: isNew
      ? process.execPath
      : await output("npx", [...newer, "node", "-p", "process.execPath"], folder),
  };
}

async function output(program: string, args: readonly string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd })).stdout.trim();
}
