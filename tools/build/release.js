#!/usr/bin/env node
/*
 * `npm run release -- <task>`: the tasks of a release. Arguments after the task are passed on:
 *
 *   version    applies the changesets: sets the next version of all packages, writes the changelogs, updates the lockfile
 *   publish    publishes the packages whose version is not in the registry
 *   rehearse   does both in a copy of the repository, and installs the result
 *   sbom       writes the list of all packages that a release installs
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const changeset = "node_modules/@changesets/cli/bin.js";

/** The commands of each task. */
const tasks = {
  version: [
    ["tools/build/changelog.js"],
    [changeset, "version"],
    [process.env.npm_execpath, "install", "--package-lock-only", "--ignore-scripts", "--no-audit"],
  ],
  publish: [[changeset, "publish"]],
  rehearse: [
    ["node_modules/vitest/vitest.mjs", "run", "--config", "test/release/vitest.config.ts"],
  ],
  sbom: [["tools/build/sbom.js"]],
};

const [task, ...args] = process.argv.slice(2);
if (!Object.hasOwn(tasks, task ?? "")) {
  const names = Object.keys(tasks).join("|");
  process.stderr.write(`Write npm run release -- ${names}.\n`);
  process.exit(2);
}
for (const command of tasks[task]) {
  const { status } = spawnSync(process.execPath, [...command, ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
