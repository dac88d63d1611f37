import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { npm } from "@svc-webhooks/kit/npm";
import { node, outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { publicPackages, readManifest } from "@svc-webhooks/kit/workspace";
import { expect, test } from "vitest";
import { start } from "../../tools/cli/test/support.js";

/** Runs `npm run pack` after the build. */
const pack = (...args: readonly string[]) =>
  node([join(root, "tools/build/pack.js"), ...args], { cwd: root });

/** Returns the names of the packages whose tarballs are in a folder. */
const packagesIn = (folder: string) =>
  readdirSync(folder)
    .map((file) => file.replace(/^svc-webhooks-(?=[a-z])/, "").replace(/-0\.0\.0-g.*/, ""))
    .toSorted();

test("npm run pack with names writes these packages, the facade, and all that they depend on", async () => {
  const packed = join(outsideDirectory(), "packed");
  const parts = Object.keys(readManifest(join(root, "packages/svc-webhooks")).dependencies ?? {});
  const facade = ["svc-webhooks", ...parts.map((name) => name.replace("@svc-webhooks/", ""))];
  const { stdout } = await pack("express", "postgres", "--out", packed);
  expect(packagesIn(packed)).toEqual(facade.toSorted());
  expect(stdout).toMatch(`npm install ${packed}/*.tgz`);

  await pack("testing", "--out", packed);
  expect(packagesIn(packed)).toEqual([...facade, "crash-test", "testing"].toSorted());
});

test.each([
  [["expres"], "No package is named expres. Did you mean express?\n"],
  [["build"], /^No package is named build\. .+\n$/],
  [
    ["--folder", "x"],
    /^Unknown option '--folder'[^]*Write npm run pack -- \[names\] \[--out folder\]\.\n$/,
  ],
])("npm run pack refuses %s", async (args, message) => {
  const { exitCode, stdout, stderr } = await pack(...args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(message);
});

test("npm run pack, the line it prints, and dev lead to a processed event in an app outside of the clone", async () => {
  const app = outsideDirectory();
  const packed = join(app, "packed");
  const { stdout } = await pack("--out", packed);
  const [, count, version = ""] = /^(\d+) packages of version (\S+) are in /.exec(stdout) ?? [];
  expect(Number(count)).toBe(publicPackages.length);
  expect(version).toMatch(/^0\.0\.0-g[0-9a-f]{8}(?:\.x[0-9a-f]{8})?$/);
  const [line = ""] = stdout.trim().split("\n").slice(-1);
  expect(line).toBe(`npm install ${packed}/*.tgz`);
  await npm(["init", "-y"], { cwd: app });
  await run("sh", ["-c", `${line} express --no-audit --no-fund`], { cwd: app });
  const manifest = await npm(["ls", "--json"], { cwd: app });
  const { dependencies } = JSON.parse(manifest.stdout) as {
    readonly dependencies: Readonly<Record<string, { readonly version: string }>>;
  };
  expect(dependencies["svc-webhooks"]?.version).toBe(version);

  copyFileSync(join(root, "examples/quick-start/app.mjs"), join(app, "app.mjs"));
  const to = `http://localhost:${await freePort()}/webhooks`;
  const program = join(app, "node_modules/svc-webhooks/bin/svc-webhooks.cjs");
  const words = [
    "dev",
    "--sandbox-port=0",
    "--to",
    to,
    "--",
    process.execPath,
    join(app, "app.mjs"),
  ];
  const { shows, interrupt } = start(words, { PORT: undefined }, program);
  await shows(/200 processed {2}email\.delivered/);
  expect(await interrupt()).toBe(130);
});
