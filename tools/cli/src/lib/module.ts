import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Failure, messageOf, UsageError } from "../errors.js";
import { patienceMs, withPatience } from "./patience.js";

/** The exports of a module of the user's application. */
export type Exports = Readonly<Record<string, unknown>>;

/** The user's modules whose import has started, each with its option, such as `--admin inbox.admin.js`. */
export const importedModules: string[] = [];

/**
 * Imports the module that an option names. From then on, `console.log`, `info` and `debug` write to stderr, because
 * stdout is only for the command's output.
 *
 * @param flag the option, such as `--admin`
 * @param failure the code of the Failure if the module cannot be imported
 * @param example the hint if the path is not a file: a sentence with an example of the module
 * @throws UsageError if the path is not a file, Failure if the module throws or is not imported within 30 s, and the
 *   reason of `signal` (as rejections)
 */
export async function loadModule(
  flag: string,
  file: string,
  failure: string,
  example: string,
  signal: AbortSignal,
): Promise<Exports> {
  const path = file.startsWith("file:") ? fileURLToPath(file) : resolve(file);
  const stats = statSync(path, { throwIfNoEntry: false });
  // Refuses devices and pipes, because Node would read them to their end, which may never come.
  if (!stats?.isFile()) {
    const problem = stats ? "is not a file" : "does not exist";
    throw new UsageError(`${flag} ${file} ${problem}.`, example);
  }
  importedModules.push(`${flag} ${file}`);
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  const late = () =>
    new Failure(
      failure,
      `${flag} ${file} was not imported within ${patienceMs / 1_000} s.`,
      "Find the top-level await that does not settle, such as a connection to a server that does not reply.",
    );
  const imported = () =>
    import(pathToFileURL(path).href).catch((error: unknown) => {
      throw new Failure(
        failure,
        `${flag} ${file} cannot be imported: ${causeOf(error)}.`,
        "Run it with node to see where it fails. If it is written in TypeScript and your version of Node cannot run it, compile it first.",
        { cause: error },
      );
    }) as Promise<Exports>;
  return withPatience(signal, late, imported);
}

/**
 * Imports a package from the current folder, or else from where this command is installed.
 *
 * @throws the result of `missing` (as a rejection) if the package is not installed
 */
export async function loadInstalled(
  name: string,
  missing: (cause: unknown) => Failure,
): Promise<unknown> {
  const here = createRequire(pathToFileURL(join(process.cwd(), "package.json")));
  try {
    return await import(pathToFileURL(here.resolve(name)).href);
  } catch (error) {
    if (!isMissing(name, error)) throw error;
  }
  try {
    return await import(name);
  } catch (error) {
    throw isMissing(name, error) ? missing(error) : error;
  }
}

/** Returns whether an import failed because the package itself is missing, rather than one of its dependencies. */
function isMissing(name: string, error: unknown): boolean {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const codes = ["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"];
  return codes.includes(code) && message.includes(`'${name}'`);
}

/**
 * Returns the objects that may hold the exports of a module: its namespace, its default export, and the member
 * `default` of that export if it was compiled from an ES module. In CommonJS, the default export is `module.exports`.
 */
export function exportersOf(module: Exports): readonly Exports[] {
  const inner = Object(module["default"]) as Exports;
  const compiled = inner["__esModule"] === true ? [Object(inner["default"]) as Exports] : [];
  return [module, inner, ...compiled];
}

/**
 * Returns the default export if `isWanted` accepts it, otherwise the export called `name`, and otherwise the only
 * export that it accepts. Returns undefined if there is no such export.
 */
export function exportOf<Wanted>(
  module: Exports,
  name: string,
  isWanted: (value: unknown) => value is Wanted,
): Wanted | undefined {
  const exporters = exportersOf(module);
  const byName = ["default", name].flatMap((key) => exporters.map((exports) => exports[key]));
  const others = new Set(exporters.flatMap((exports) => Object.values(exports)).filter(isWanted));
  return byName.find(isWanted) ?? (others.size === 1 ? Array.from(others)[0] : undefined);
}

/** Returns an error's message without the period at its end, so that it can be part of a sentence. */
export const causeOf = (error: unknown): string => messageOf(error).replace(/\.+$/, "");
