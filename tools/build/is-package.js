import { isAbsolute } from "node:path";

/**
 * Returns whether an import names a package and not a file, for `external`. A bundler also passes the paths of
 * resolved files, which start with a drive letter on Windows.
 */
export const isPackage = (id) => !id.startsWith(".") && !isAbsolute(id);
