import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { npmCommand } from "../../tools/build/npm.js";
import { npm } from "./npm.js";
import { outsideDirectory, root } from "./programs.js";
import { testPosix } from "./systems.js";

const folder = outsideDirectory();

/** Writes an empty script of npm in a folder of this test, and returns its path. */
function script(path: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  return file;
}

test("finds npm's script next to the batch files, as on Windows", () => {
  const file = script("windows/node_modules/npm/bin/npm-cli.js");
  expect(npmCommand("npm", join(folder, "windows"))).toEqual([process.execPath, file]);
});

testPosix("finds npm's script through the link in the path", () => {
  const file = script("lib/node_modules/npm/bin/npm-cli.js");
  mkdirSync(join(folder, "bin"));
  symlinkSync(file, join(folder, "bin/npm"));
  expect(npmCommand("npm", join(folder, "bin"))).toEqual([process.execPath, file]);
});

test("returns the name if the path has no script of npm", () => {
  expect(npmCommand("npm", folder)).toEqual(["npm"]);
});

test("runs npm", async () => {
  const { exitCode, stdout } = await npm(["--version"], { cwd: root });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});
