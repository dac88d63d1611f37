import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { read } from "@changesets/config";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { expect, test } from "vitest";

const changesets = join(root, "node_modules/@changesets/cli/bin.js");

/** Creates a repository with the configuration of this one, two public packages and two changesets. */
function repository(): string {
  const folder = outsideDirectory();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const version = "0.1.0";
  const core = "@svc-webhooks/core";
  const facade = "svc-webhooks";
  const manifests = {
    "packages/core": { name: core, version },
    "packages/svc-webhooks": { name: facade, version, dependencies: { [core]: version } },
    site: { name: "@svc-webhooks/site", private: true, dependencies: { [core]: version } },
  };
  for (const [path, manifest] of Object.entries(manifests)) {
    write(`${path}/package.json`, JSON.stringify(manifest));
  }
  write("package.json", '{ "private": true, "workspaces": ["packages/*", "tools/*", "site"] }');
  write("package-lock.json", "{}");
  write("CHANGELOG.md", "# Changelog\n\nThe introduction.\n\n## 0.1.0\n\nThe first.\n");
  write(".changeset/all.md", `---\n"${core}": minor\n"${facade}": patch\n---\n\nAdd a\nb.\n`);
  write(".changeset/one.md", `---\n"${core}": patch\n---\n\nFix c.\n`);
  for (const file of ["config.json", "changelog.cjs"]) {
    cpSync(join(root, ".changeset", file), join(folder, ".changeset", file));
  }
  return folder;
}

test("exactly the public packages share a version, as Changesets reads its configuration", async () => {
  const { fixed } = await read(root);
  const names = publicPackages.map(({ name }) => name);
  expect(fixed.map((group) => group.toSorted())).toEqual([names.toSorted()]);
});

test("a release adds each change once to CHANGELOG.md, and to the packages that it names", async () => {
  const cwd = repository();
  const script = join(root, "tools/build/changelog.js");
  // The second run finds the release.
  for (const program of [script, script]) {
    expect(await node([program], { cwd })).toMatchObject({ exitCode: 0, stderr: "" });
  }
  expect(await node([changesets, "version"], { cwd })).toMatchObject({ exitCode: 0 });
  const text = (file: string) => readFileSync(join(cwd, file), "utf8");
  expect(text("CHANGELOG.md")).toBe(`# Changelog

The introduction.

## 0.2.0

### Minor changes

- All packages: Add a
  b.

### Patch changes

- \`@svc-webhooks/core\`: Fix c.

## 0.1.0

The first.
`);
  expect(text("packages/core/CHANGELOG.md")).toBe(`# @svc-webhooks/core

## 0.2.0

### Minor Changes

- Add a
  b.

### Patch Changes

- Fix c.
`);
  expect(text("packages/svc-webhooks/CHANGELOG.md")).toBe(`# svc-webhooks

## 0.2.0

### Patch Changes

- Add a
  b.
`);
  const manifest = JSON.parse(text("site/package.json")) as unknown;
  expect(manifest).toEqual({
    name: "@svc-webhooks/site",
    private: true,
    dependencies: { "@svc-webhooks/core": "0.2.0" },
  });
});
