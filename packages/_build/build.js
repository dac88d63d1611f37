#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

/*
 * Builds the package in the current folder: declarations as tsc emits them, and one JavaScript file
 * per entry of its `exports` and `imports`, because a process that starts pays for each module it
 * loads. What the package depends on, and its own `imports`, stay imports.
 *
 * With `--modules` every module stays a file: for a package of which some parts run where others
 * cannot be loaded.
 */

/** Every path under `dist` that a package.json field names, whatever its conditions. */
const builtFiles = (field) =>
  typeof field === "string"
    ? field.startsWith("./dist/") && field.endsWith(".js")
      ? [field]
      : []
    : Object.values(field ?? {}).flatMap(builtFiles);

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const files = [...new Set([manifest.exports, manifest.imports].flatMap(builtFiles))];
const input = Object.fromEntries(
  files.map((file) => [
    file.slice("./dist/".length, -".js".length),
    file.replace("./dist/", "./src/").replace(/js$/, "ts"),
  ]),
);

rmSync("dist", { recursive: true, force: true });

const tsc = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
const { status } = spawnSync(
  process.execPath,
  [tsc, "-p", "tsconfig.build.json", "--emitDeclarationOnly"],
  { stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);

for (const [name, source] of Object.entries(input)) {
  const bundle = await rolldown({
    input: { [name]: source },
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    tsconfig: "tsconfig.build.json",
    resolve: { extensionAlias: { ".js": [".ts"] } },
  });
  await bundle.write({
    dir: "dist",
    format: "esm",
    comments: { legal: true },
    preserveModules: process.argv.includes("--modules"),
    preserveModulesRoot: "src",
  });
}
