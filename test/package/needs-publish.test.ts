import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { listen } from "@svc-webhooks/kit/servers";

const name = "@svc-webhooks/core";
const version = "0.2.0";
/** A repository with a changeset, and one without. */
const [changed, released] = [outsideDirectory(), outsideDirectory()];

beforeAll(() => {
  for (const folder of [changed, released]) {
    mkdirSync(join(folder, ".changeset"));
    mkdirSync(join(folder, "packages/core"), { recursive: true });
    writeFileSync(join(folder, "packages/core/package.json"), JSON.stringify({ name, version }));
  }
  writeFileSync(join(changed, ".changeset/a-fix.md"), "A fix\n");
});

/** Runs the script with a registry that has these versions, or that responds with this status. */
async function outputsIn(cwd: string, registry: readonly string[] | number) {
  const port = await listen((_request, response) => {
    if (typeof registry === "number") return response.writeHead(registry).end("{}");
    const versions = registry.map((one) => [one, { name, version: one }]);
    const latest = registry.at(-1);
    const packument = { name, "dist-tags": { latest }, versions: Object.fromEntries(versions) };
    return response.writeHead(200).end(JSON.stringify(packument));
  });
  return node([join(root, "tools/build/needs-publish.js")], {
    cwd,
    env: {
      HOME: cwd,
      npm_config_registry: `http://127.0.0.1:${port}`,
      npm_config_fetch_retries: "0",
      npm_config_update_notifier: "false",
    },
  });
}

test.each([
  ["requests a publish if the registry lacks the version", released, ["0.1.0"], true],
  ["requests none if the registry has the version", released, ["0.1.0", version], false],
  ["requests none for a commit after the release", changed, ["0.1.0"], false],
  ["requests none if the registry does not know the package", released, 404, false],
] as const)("%s", async (_title, folder, registry, publish) => {
  expect(await outputsIn(folder, registry)).toMatchObject({
    exitCode: 0,
    stdout: `version=${version}\npublish=${publish}\n`,
  });
});

test("fails if the registry fails", async () => {
  expect(await outputsIn(released, 500)).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringContaining(`npm view ${name} failed. Run this job again.`),
  });
});
