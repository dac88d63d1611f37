import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { npm } from "@svc-webhooks/kit/npm";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { expect, test } from "vitest";
import { start } from "../../tools/cli/test/support.js";

test("npm run pack, the line it prints, and dev lead to a processed event in an app outside of the clone", async () => {
  const app = outsideDirectory();
  const packed = join(app, "packed");
  const { stdout } = await run(process.execPath, [join(root, "tools/build/pack.js"), packed], {
    cwd: root,
  });
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
  expect(dependencies["@svc-webhooks/core"]?.version).toBe(version);

  copyFileSync(join(root, "examples/quick-start/app.mjs"), join(app, "app.mjs"));
  const to = `http://localhost:${await freePort()}/webhooks`;
  const program = join(app, "node_modules/svc-webhooks/bin/svc-webhooks.js");
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
