/** The folders of all packages, relative to the root, such as `packages/core`. */
export declare const packageFolders: readonly string[];
