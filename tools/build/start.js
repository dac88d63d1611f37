#!/usr/bin/env node
/*
 * Runs a program of this repository: `node tools/build/start.js <name> [variant] [arguments]`. Builds its workspace
 * and the dependencies first, and prints the build's output only if it fails.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The workspace and the module of each program, by its name, and its variant if it has several. */
const programs = {
  demo: ["@svc-webhooks/example-full-loop", "examples/full-loop/dist/demo.js"],
  "demo receiver": ["@svc-webhooks/example-express-basic", "examples/express-basic/dist/demo.js"],
  sandbox: ["@svc-webhooks/sandbox", "tools/sandbox/dist/main.js"],
};

const [name, ...args] = process.argv.slice(2);
const variant = programs[`${name} ${args[0]}`];
if (variant) args.shift();
const [workspace, module] = variant ?? programs[name];
const root = resolve(import.meta.dirname, "../..");

/** Shows a line on a terminal until the next call. */
const show = (line) => process.stderr.isTTY && process.stderr.write(`\r\u001b[K${line}`);

const turbo = ["--env-file=tools/build/turbo.env", "node_modules/turbo/bin/turbo"];
if (!existsSync(resolve(root, "node_modules/turbo/bin/turbo"))) {
  process.stderr.write("Run npm ci first.\n");
  process.exit(1);
}
show("Building the packages, half a minute at first …");
const build = spawnSync(
  process.execPath,
  [...turbo, "run", "build", "--output-logs=errors-only", `--filter=${workspace}`],
  { cwd: root, encoding: "utf8" },
);
show("");
if (build.status !== 0) {
  process.stderr.write(`${build.stdout}${build.stderr}`);
  process.exit(1);
}

const path = resolve(root, module);
process.argv = [process.argv[0], path, ...args];
await import(pathToFileURL(path).href);
