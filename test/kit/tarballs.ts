import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { withDependencies } from "../../tools/build/package-folders.js";
import { npm } from "./npm.js";
import { oncePerRun } from "./once-per-run.js";
import { outputOf, root } from "./programs.js";
import { publicPackages } from "./workspace.js";

/** A tarball of a package, as `npm pack --json` reports it. */
export interface Tarball {
  readonly name: string;
  /** The absolute path. */
  readonly path: string;
  /** The paths of its files. */
  readonly files: readonly string[];
}

interface Reported {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs every public package, once per run of the tests. */
export async function tarballs(): Promise<readonly Tarball[]> {
  const folder = await oncePerRun("tarballs", async (path) => {
    mkdirSync(path);
    const workspaces = publicPackages.flatMap(({ source }) => ["--workspace", source]);
    const options = ["--json", "--offline", "--ignore-scripts", "--pack-destination", path];
    const packed = await npm(["pack", ...options, ...workspaces], {
      cwd: root,
      env: { npm_config_update_notifier: "false" },
    });
    writeFileSync(join(path, "packed.json"), outputOf(packed));
  });
  const packed = JSON.parse(readFileSync(join(folder, "packed.json"), "utf8")) as Reported[];
  return packed.map(({ name, filename, files }) => ({
    name,
    path: join(folder, filename),
    files: files.map(({ path }) => path),
  }));
}

/**
 * Returns the paths of the tarballs of packages, by the names of their folders, and of the packages of the workspace
 * that they depend on.
 */
export async function tarballsOf(folders: readonly string[]): Promise<readonly string[]> {
  const names = withDependencies(
    folders.map((folder) => {
      const found = publicPackages.find((one) => basename(one.folder) === folder);
      if (!found) throw new Error(`No public package has the folder ${folder}.`);
      return found.name;
    }),
  );
  return (await tarballs()).filter(({ name }) => names.has(name)).map(({ path }) => path);
}
