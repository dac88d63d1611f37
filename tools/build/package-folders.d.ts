/** The folders of all packages, relative to the root, such as `packages/core`. */
export declare const packageFolders: readonly string[];

interface FolderPackage<Manifest> {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** All packages, each with its folder and its manifest. */
export declare const packages: readonly FolderPackage<unknown>[];

/** The packages that users install. */
export declare const publicPackages: readonly FolderPackage<unknown>[];
