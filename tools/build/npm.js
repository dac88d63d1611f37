import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/**
 * Returns the command that runs npm or npx: this Node with npm's own script. On Windows, both names are batch files,
 * which Node starts only through a shell.
 *
 * @param name `npm` or `npx`
 * @param path the folders to search: the value of `PATH`
 */
export function npmCommand(name, path = process.env.PATH ?? "") {
  for (const folder of path.split(delimiter)) {
    // On Windows, npm's package is next to the batch files. Elsewhere, `npm` is a link into the package.
    const link = join(folder, "npm");
    const bin = [
      join(folder, "node_modules/npm/bin"),
      ...(existsSync(link) ? [dirname(realpathSync(link))] : []),
    ].find((candidate) => existsSync(join(candidate, `${name}-cli.js`)));
    if (bin !== undefined) return [process.execPath, join(bin, `${name}-cli.js`)];
  }
  // A version manager may have put a program of its own into the path.
  return [name];
}
