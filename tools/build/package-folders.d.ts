/** The folders of all packages, relative to the root, such as `packages/core`. */
export declare const packageFolders: readonly string[];

interface FolderPackage {
  readonly folder: string;
  readonly manifest: unknown;
}

/** All packages, each with its folder and its manifest. */
export declare const packages: readonly FolderPackage[];

/** The packages that users install. */
export declare const publicPackages: readonly FolderPackage[];

/** Returns the names of public packages, and of those that they depend on. */
export declare function withDependencies(names: readonly string[]): ReadonlySet<string>;
