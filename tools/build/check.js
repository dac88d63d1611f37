#!/usr/bin/env node
/*
 * `npm run check`: checks all that needs no server. `npm run check -- types lint pages` runs only these parts, in this
 * order. The packages must be built.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { packageFolders } from "./package-folders.js";

const root = resolve(import.meta.dirname, "../..");

/** The programs, by their names. */
const bins = {
  cspell: "node_modules/cspell/bin.mjs",
  oxlint: "node_modules/oxlint/bin/oxlint",
  prettier: "node_modules/prettier/bin/prettier.cjs",
  tsc: "node_modules/typescript/bin/tsc",
  vitest: "node_modules/vitest/vitest.mjs",
};

/** Runs a program, and resolves to whether it succeeds. Its output is printed when it ends, if it fails. */
async function succeeds(name, args) {
  const child = spawn(process.execPath, [join(root, bins[name]), ...args], { cwd: root });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const [code] = await once(child, "close");
  if (code !== 0) process.stderr.write(`${name} exited with ${code}.\n${output}\n`);
  return code === 0;
}

const cache = ["--cache", "--cache-strategy=content"];

/**
 * Checks the types of all workspaces and tests, each with its own configuration. One process reads each declaration
 * once, which a process for each workspace would repeat.
 */
async function types() {
  const workspaces = [
    ...packageFolders,
    ...readdirSync(join(root, "examples")).map((name) => `examples/${name}`),
  ];
  const projects = [".", "site", ...workspaces]
    .flatMap((folder) => ["", "test/"].map((inside) => `${folder}/${inside}tsconfig.json`))
    .concat("tools/sandbox/tsconfig.script.json")
    .map((file) => join(root, file))
    .filter(existsSync);
  // The files that tsc writes do not record the declarations that a project imports, so nothing may be skipped. Several
  // checkers of one project repeat each other's work, so the processors check different projects instead.
  const options = ["--build", "--force", "--checkers", "1", "--builders", "2"];
  try {
    return await succeeds("tsc", [...options, ...projects]);
  } finally {
    for (const file of projects) rmSync(file.replace(/\.json$/, ".tsbuildinfo"), { force: true });
  }
}

/** The parts, in their order. */
const parts = {
  types,
  lint: async () => {
    const results = await Promise.all([
      succeeds("oxlint", ["--type-aware", "--deny-warnings"]),
      succeeds("prettier", ["--check", ...cache, "--log-level=warn", "."]),
      succeeds("cspell", [
        "--no-progress",
        "--no-summary",
        ...cache,
        "--cache-location=node_modules/.cache/cspell",
      ]),
    ]);
    return results.every(Boolean);
  },
  pages: () => succeeds("vitest", ["run", "--config", "test/package/check.config.ts"]),
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  process.stderr.write(`The check has no part ${unknown}, but ${Object.keys(parts).join(", ")}.\n`);
  process.exit(2);
}
for (const [name, run] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  if (!(await run())) process.exit(1);
}
