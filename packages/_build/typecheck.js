#!/usr/bin/env node
/*
 * `npm run typecheck`: checks the types of all workspaces and tests, each with its own configuration. One process of
 * tsc reads each declaration once, which a process for each workspace would repeat. The packages must be built.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

const workspaces = ["packages", "examples"].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
);
const projects = [".", "site", ...workspaces]
  .flatMap((folder) => ["", "test/"].map((inside) => `${folder}/${inside}tsconfig.json`))
  .concat("packages/sandbox/tsconfig.script.json")
  .map((file) => join(root, file))
  .filter(existsSync);

// The files that tsc writes do not record the declarations that a project imports, so nothing may be skipped. Several
// checkers of one project repeat each other's work, so the processors check different projects instead.
const options = ["--build", "--force", "--checkers", "1", "--builders", "2"];
const tsc = join(root, "node_modules/typescript/bin/tsc");
const { status } = spawnSync(process.execPath, [tsc, ...options, ...projects], {
  cwd: root,
  stdio: "inherit",
});
for (const file of projects) rmSync(file.replace(/\.json$/, ".tsbuildinfo"), { force: true });
process.exitCode = status ?? 1;
