import { readFileSync } from "node:fs";
import { join } from "node:path";
import { partNames } from "../../tools/build/facade.js";
import { packages as folderPackages } from "../../tools/build/package-folders.js";
import { root } from "./programs.js";

export { facade, importedAs } from "../../tools/build/facade.js";

type Versions = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: string;
  readonly repository?: unknown;
  readonly private?: boolean;
  readonly license?: string;
  readonly engines?: Versions;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly devDependencies?: Versions;
}

/** A package in this workspace. */
export interface WorkspacePackage {
  readonly name: string;
  /** The path relative to the root: `packages/core`. */
  readonly folder: string;
  /** The absolute path. */
  readonly source: string;
  readonly manifest: Manifest;
  /** The specifiers of its exports: `@svc-webhooks/next/pages`. */
  readonly entries: readonly string[];
}

export const readManifest = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;

export const packages: readonly WorkspacePackage[] = folderPackages.map((item) => {
  const { folder } = item;
  const manifest = item.manifest as Manifest;
  const { name, exports = {} } = manifest;
  const entries = Object.keys(exports)
    .filter((entry) => !/\.(?:json|sql)$/.test(entry))
    .map((entry) => name + entry.slice(1));
  return { name, folder, source: join(root, folder), manifest, entries };
});

/** The packages that users install. */
export const publicPackages: readonly WorkspacePackage[] = packages.filter(
  ({ manifest }) => manifest.private !== true,
);

/** The packages that the facade re-exports. */
export const parts: readonly WorkspacePackage[] = publicPackages.filter(({ name }) =>
  partNames.includes(name),
);

/**
 * Returns the packages of a kind. A keyword marks adapters and stores, so that users find third-party ones too.
 */
export const packagesOfKind = (kind: "adapter" | "store"): readonly WorkspacePackage[] =>
  packages.filter(({ manifest }) => manifest.keywords?.includes(`svc-webhooks-${kind}`));
