import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";

/** The lowest version of pg-boss that the package supports. */
const pgBoss = "pg-boss@12.38.0";

/** The packages of the workspace that the example and the pages import. */
const names = ["core", "events", "express", "node", "pg-boss", "postgres"];

/** The page of pg-boss, and the packages that its example imports. */
const page = ["@pg-boss/dashboard@1.9.0", "@hono/node-server@2.1.9", "hono@4", "@types/express@5"];

const others = ["express@5.3.0", "pg@8.23.1", "@types/node@22", "@types/pg@8.23.1"];

/** Installs pg-boss and the packages that use it outside the workspace. Resolves to the folder. */
export async function installed(): Promise<string> {
  const folder = outsideDirectory();
  const tarballs = join(folder, "tarballs");
  mkdirSync(tarballs);
  const workspaces = names.flatMap((name) => ["--workspace", `packages/${name}`]);
  await succeed("npm", ["pack", "--pack-destination", tarballs, ...workspaces], root);
  const packed = readdirSync(tarballs).map((file) => join(tarballs, file));
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
  const node24 = ["--yes", "--package", "node@24"];
  await succeed(
    "npx",
    [...node24, "npm", "install", ...options, pgBoss, ...others, ...page, ...packed],
    folder,
  );
  return folder;
}

async function succeed(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { exitCode, stderr } = await run(program, args, { cwd });
  if (exitCode !== 0) throw new Error(stderr);
}
