import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Failure, messageOf, UsageError } from "../errors.js";
import { patienceMs, withPatience } from "./patience.js";

/** A module of the user's application. */
export type Exports = Readonly<Record<string, unknown>>;

/**
 * Imports the module that an option names. From then on, `console.log` writes to stderr, because stdout has the output of
 * the command only.
 *
 * @param flag such as `--admin`
 * @param failure the code of the failure if it cannot be imported
 * @param example the sentence that shows such a module
 * @throws UsageError if it does not exist, Failure if it throws or is not imported within 30 s, and the reason of
 *   `signal` (as rejections)
 */
export async function loadModule(
  flag: string,
  file: string,
  failure: string,
  example: string,
  signal: AbortSignal,
): Promise<Exports> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`${flag} ${file} does not exist.`, example);
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  const late = () =>
    new Failure(
      failure,
      `${flag} ${file} was not imported within ${patienceMs / 1_000} s.`,
      "Check which top-level await of it does not settle, such as a connection to a server that does not reply.",
    );
  const imported = () =>
    import(pathToFileURL(path).href).catch((error: unknown) => {
      throw new Failure(failure, ...importError(flag, file, error), { cause: error });
    }) as Promise<Exports>;
  return withPatience(signal, late, imported);
}

/** Returns the message and the fix for a module that cannot be imported. */
export const importError = (
  flag: string,
  file: string,
  error: unknown,
): readonly [message: string, fix: string] => [
  `${flag} ${file} cannot be imported: ${causeOf(error)}.`,
  "Run it with node to see where it fails. If it is written in TypeScript and your version of Node cannot run it, compile it first.",
];

/** Returns an error's message without its full stop, to be quoted in a sentence. */
export const causeOf = (error: unknown): string => messageOf(error).replace(/\.+$/, "");
