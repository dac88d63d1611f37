import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { satisfies } from "semver";
import { describe, expect, test } from "vitest";
import { root, scope } from "@svc-webhooks/kit/programs";
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
const tools = new Set(["svc-webhooks"]);

test.each(publicPackages.filter(({ name }) => !tools.has(name)))(
  "$name does not depend on the tools for tests",
  ({ manifest }) => {
    const { dependencies, optionalDependencies, peerDependencies } = manifest;
    const needed = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    expect(Object.keys(needed)).not.toContain(`${scope}/testing`);
  },
);

/** A package as package-lock.json describes it. */
interface Locked {
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("the packages of the lockfile run on Node 20.20, and their install scripts are reviewed", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const { allowScripts } = JSON.parse(read("package.json")) as {
    readonly allowScripts: Readonly<Record<string, boolean>>;
  };
  const all = Object.entries(packages);
  const newer = all.filter(([, { engines }]) => !satisfies("20.20.0", engines?.node ?? "*"));
  expect(newer.map(([path]) => path)).toEqual([]);
  const scripts = all.flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript === true ? [path.replace(/^.*node_modules\//, "")] : [],
  );
  expect(scripts.toSorted()).toEqual(Object.keys(allowScripts).toSorted());
});

test("no published package brings an install script", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const nameOf = (path: string) => path.replace(/^.*node_modules\//, "");
  const installed = new Set<string>();
  // Adds all versions of a package, because npm may install another one in a nested folder.
  const add = (name: string): void => {
    if (installed.has(name)) return;
    installed.add(name);
    for (const [path, { dependencies, optionalDependencies }] of Object.entries(packages)) {
      if (nameOf(path) !== name) continue;
      Object.keys({ ...dependencies, ...optionalDependencies }).forEach(add);
    }
  };
  for (const { folder } of publicPackages) {
    Object.keys(packages[folder]?.dependencies ?? {}).forEach(add);
  }
  expect(installed.size).toBeGreaterThan(10);
  const brought = Object.keys(packages).filter(
    (path) => packages[path]?.hasInstallScript === true && installed.has(nameOf(path)),
  );
  expect(brought).toEqual([]);
});

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

test("README lists all packages (npx vitest run test/package/workspace.test.ts -u writes the list)", async () => {
  const rows = inReadingOrder().map(
    ({ name, folder, manifest }) => `| [\`${name}\`](${folder}) | ${manifest.description} |\n`,
  );
  const table = `| package | what it is |\n| --- | --- |\n${rows.join("")}`;
  const readme = join(root, "README.md");
  const written = read("README.md").replace(/^\| package .*\|\n(?:\|.*\|\n)*/m, () => table);
  const options = await resolveConfig(readme);
  await expect(await format(written, { ...options, filepath: readme })).toMatchFileSnapshot(readme);
});
