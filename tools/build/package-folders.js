import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/**
 * The folders of all packages, relative to the root: what an app loads is in `packages`, what a developer runs is in
 * `tools`. A folder that contains only an earlier version's build output is not a package.
 *
 * @type {readonly string[]}
 */
export const packageFolders = ["packages", "tools"].flatMap((parent) =>
  readdirSync(join(root, parent))
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(join(root, folder, "package.json"))),
);

/** All packages, each with its folder and its manifest. */
export const packages = packageFolders.map((folder) => ({
  folder,
  manifest: JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")),
}));

/** The packages that users install. */
export const publicPackages = packages.filter(({ manifest }) => manifest.private !== true);

/**
 * Returns the names of public packages, and of those that they depend on.
 *
 * @param {readonly string[]} names
 */
export function withDependencies(names) {
  const all = new Set(names);
  // A set visits the elements that the loop adds.
  for (const name of all) {
    const { dependencies = {} } = publicPackages.find(
      (item) => item.manifest.name === name,
    ).manifest;
    for (const { manifest } of publicPackages) {
      if (manifest.name in dependencies) all.add(manifest.name);
    }
  }
  return all;
}
