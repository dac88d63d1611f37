import { existsSync, readdirSync } from "node:fs";
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
