import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { tarballs } from "@svc-webhooks/kit/tarballs";
import { publicPackages, readManifest, type Manifest } from "@svc-webhooks/kit/workspace";

/** A package as it would be published. */
export interface PackedPackage {
  readonly name: string;
  readonly tarball: string;
  /** The directory of the unpacked files. */
  readonly installed: string;
  /** The paths of the files in the tarball. */
  readonly files: readonly string[];
  readonly manifest: Manifest;
}

export interface PackedWorkspace {
  readonly packages: readonly PackedPackage[];
  /** A project with all packages, installed from their tarballs, and Express. */
  readonly consumer: string;
}

/**
 * Returns whether an entry is only an ES module: Workers load nothing else, and `cloudflare:workers` exists only there.
 */
export const isEsmOnly = (entry: string): boolean =>
  /^@?svc-webhooks\/cloudflare(?:\/|$)/.test(entry);

/** The entries that Node loads with `require` and with `import`. */
export const nodeEntries: readonly string[] = publicPackages
  .flatMap(({ entries }) => entries)
  .filter((entry) => !isEsmOnly(entry));

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "junction");
}

/** Optional peers that are not installed here: most apps do without the first, the second compiles, and the last needs a newer Node. */
const leftOut: ReadonlySet<string> = new Set([
  "@photostructure/sqlite",
  "better-sqlite3",
  "pg-boss",
]);

/** Packs every public package and installs them as pnpm does: a package cannot resolve an undeclared dependency. */
export async function packWorkspace(): Promise<PackedWorkspace> {
  const directory = outsideDirectory();
  const homeOf = (name: string) => join(directory, "installed", name);
  const unpacked = (name: string) => join(homeOf(name), "node_modules", name);
  const packages = await Promise.all(
    (await tarballs()).map(async ({ name, path: tarball, files }) => {
      mkdirSync(unpacked(name), { recursive: true });
      await run("tar", ["-xzf", tarball, "-C", unpacked(name), "--strip-components=1"], {
        cwd: directory,
      });
      return {
        name,
        tarball,
        installed: unpacked(name),
        files,
        manifest: readManifest(unpacked(name)),
      };
    }),
  );

  const installed = (name: string) =>
    packages.some((one) => one.name === name) ? unpacked(name) : join(root, "node_modules", name);
  for (const { name, manifest } of packages) {
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
    for (const dependency of Object.keys(declared).filter((one) => !leftOut.has(one))) {
      link(installed(dependency), join(homeOf(name), "node_modules", dependency));
    }
  }
  const consumer = join(directory, "consumer");
  const names = packages.map(({ name }) => name);
  for (const name of [...names, "express", "@types/express", "@types/node"]) {
    link(installed(name), join(consumer, "node_modules", name));
  }
  cpSync(join(root, "test/package/consumer"), consumer, { recursive: true });
  writeFileSync(join(consumer, "package.json"), '{ "type": "module" }');
  writeFileSync(join(consumer, "commonjs/package.json"), '{ "type": "commonjs" }');
  return { packages, consumer };
}
