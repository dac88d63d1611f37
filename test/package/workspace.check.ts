import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { describe, expect, test } from "vitest";
import { root, scope } from "@svc-webhooks/kit/programs";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { packagesOfKind, publicPackages, type WorkspacePackage } from "@svc-webhooks/kit/workspace";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const repository = "https://github.com/svc-webhooks/svc-webhooks";

describe.each(publicPackages)("$name", ({ folder, manifest }) => {
  test("has a description, keywords and links to the repository", () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/^[A-Z].+[^.]$/),
      keywords: expect.arrayContaining(["webhook", "webhooks"]),
      homepage: `${repository}/tree/main/${folder}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: "git", url: `git+${repository}.git`, directory: folder },
    });
  });

  test("has the LICENSE of the repository", () => {
    expect(read(`${folder}/LICENSE`)).toBe(read("LICENSE"));
  });
});

/** The packages that no app loads: they run the contracts themselves. */
const tools = new Set(["@svc-webhooks/cli"]);

test.each(publicPackages.filter(({ name }) => !tools.has(name)))(
  "$name does not depend on the tools for tests",
  ({ manifest }) => {
    const { dependencies, optionalDependencies, peerDependencies } = manifest;
    const needed = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    expect(Object.keys(needed)).not.toContain(`${scope}/testing`);
  },
);

test("one changeset names all unreleased packages", () => {
  const unreleased = publicPackages
    // Changesets writes a package's changelog at its first release.
    .filter(({ folder }) => !existsSync(join(root, folder, "CHANGELOG.md")))
    .map(({ name }) => name);
  const missing = readdirSync(join(root, ".changeset"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => read(`.changeset/${file}`))
    .map((changeset) => unreleased.filter((name) => !changeset.includes(`"${name}": `)))
    .toSorted((a, b) => a.length - b.length);
  expect(missing[0] ?? unreleased).toEqual([]);
});

/** Returns the packages in reading order: the core and its companions, then adapters, then stores. */
function inReadingOrder(): readonly WorkspacePackage[] {
  const kinds = (["adapter", "store"] as const).map((kind) =>
    packagesOfKind(kind).filter((one) => publicPackages.includes(one)),
  );
  const others = publicPackages.filter((one) => !kinds.flat().includes(one));
  return [others, ...kinds].flat();
}

test("docs/README.md lists all packages (npx vitest run --config test/package/check.config.ts -u writes the list)", async () => {
  const rows = inReadingOrder().map(
    ({ name, folder, manifest }) => `| [\`${name}\`](../${folder}) | ${manifest.description} |\n`,
  );
  const table = `| package | what it is |\n| --- | --- |\n${rows.join("")}`;
  const index = join(root, "docs/README.md");
  const written = read("docs/README.md").replace(/^\| package .*\|\n(?:\|.*\|\n)*/m, () => table);
  const options = await resolveConfig(index);
  await expect(await format(written, { ...options, filepath: index })).toMatchFileSnapshot(index);
});

test("README's table of packages links to public packages, and names subpaths that exist", () => {
  const rows = tableOf("README.md", "install");
  expect(rows).toHaveLength(5);
  const links = new Set(publicPackages.map(({ name, folder }) => `[\`${name}\`](${folder})`));
  expect(rows.filter(({ install = "" }) => !links.has(install))).toEqual([]);
  const subpaths = rows.flatMap((row) =>
    codeIn(row["what it is"] ?? "").filter((code) => code.startsWith("/")),
  );
  expect(subpaths.length).toBeGreaterThan(10);
  const entries = new Set(publicPackages.flatMap((one) => one.entries));
  expect(subpaths.filter((path) => !entries.has(`svc-webhooks${path}`))).toEqual([]);
});
