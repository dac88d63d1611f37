import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, test } from "vitest";
import { packageFolders } from "../../build/package-folders.js";
import { cli, secret } from "./support.js";

test("lists the tools, and when they need --write", async () => {
  const { code, stdout } = await cli(["mcp", "--list"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^verify +never +Verify a signature$/m);
  expect(stdout).toMatch(/^doctor +always +/m);
  expect(stdout).toMatch(/^set_fault +outside_own_sandbox +/m);
});

describe("wrong usage prints one line with the fix, and exits with 2", () => {
  test.each([
    ["--json without --list", ["--json"], /--json needs --list/],
    ["two services", ["--sandbox", "--base-url=http://x"], /--sandbox and --base-url were both/],
    ["a port that is not a number", ["--sandbox", "--port=x"], /--port/],
    ["a variable that is not set", ["--secret-env=NO_SUCH"], /NO_SUCH is not set/],
    ["an empty variable", ["--secret-env=EMPTY"], /EMPTY is empty/],
    ["a short secret", ["--secret-env=SHORT"], /SHORT has fewer than 8 characters/],
    ["a secret in place of a name", [`--secret-env=${secret}`], /Write the name of a variable/],
    [
      "a URL in place of a host",
      ["--allow-host=http://localhost/"],
      /Write it like localhost:3000/,
    ],
  ])("%s", async (_what, args, text) => {
    const { code, stdout, stderr } = await cli(["mcp", ...args], {
      env: { EMPTY: "", SHORT: "whsec_x" },
    });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(text);
    expect(stderr).not.toContain(secret);
  });
});

test("a port that is taken is reported in one line", async () => {
  const port = await listen(() => {});
  const { code, stderr } = await cli(["mcp", "--sandbox", `--port=${port}`]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^svc-webhooks mcp: [^\n]*\n$/);
});

/** Runs `mcp --list` from a copy of the command whose `@svc-webhooks/mcp` is `mcp`, or missing. */
async function listFromCopy(mcp?: (folder: string) => void) {
  const outside = outsideDirectory();
  const copy = join(outside, "cli");
  for (const part of ["bin", "dist", "package.json"])
    cpSync(join(root, "tools/cli", part), join(copy, part), { recursive: true });
  const scope = join(outside, "node_modules/@svc-webhooks");
  mkdirSync(scope, { recursive: true });
  for (const folder of packageFolders.filter((each) => each !== "tools/mcp")) {
    symlinkSync(join(root, folder), join(scope, basename(folder)));
  }
  mcp?.(join(scope, "mcp"));
  return node([join(copy, "bin/svc-webhooks.js"), "mcp", "--list"], { cwd: copy });
}

test("names a missing dependency of the package, not the package", async () => {
  const { exitCode, stderr } = await listFromCopy((folder) => {
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), '{"type":"module","exports":"./index.js"}');
    writeFileSync(join(folder, "index.js"), 'import "no-such-dependency";');
  });
  expect(exitCode).toBe(1);
  expect(stderr).toContain("no-such-dependency");
  expect(stderr).not.toContain("requires the package");
});

test("without the package, it prints the line that installs it, and exits with 1", async () => {
  const { exitCode, stdout, stderr } = await listFromCopy();
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    "svc-webhooks mcp: This command requires the package @svc-webhooks/mcp, which is not installed. Install it next to @svc-webhooks/cli: npm install --save-dev @svc-webhooks/mcp.\n",
  );
});
