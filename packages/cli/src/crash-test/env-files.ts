import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { addressOf } from "./addresses.js";

/** Files that a server may read itself, without those that only show which variables there are. */
const envFile = /^\.env(?:\..+)?$/;
const sample = /\.(?:example|sample|template|dist|vault)$/;

/** A file with variables that contain addresses. */
export interface EnvFile {
  readonly file: string;
  readonly names: readonly string[];
}

/**
 * Returns the `.env` files of a folder that contain addresses in variables which the environment does not set. Programs
 * that read such a file keep the variables that are set.
 *
 * @param isSet whether the server gets the variable from this command
 */
export function envFilesIn(folder: string, isSet: (name: string) => boolean): readonly EnvFile[] {
  const files = readdirSync(folder).filter((name) => envFile.test(name) && !sample.test(name));
  return files.toSorted().flatMap((file): readonly EnvFile[] => {
    const names = Object.entries(variablesOf(join(folder, file)))
      .filter(([name, value = ""]) => !isSet(name) && addressOf(name, value) !== undefined)
      .map(([name]) => name);
    return names.length === 0 ? [] : [{ file, names }];
  });
}

function variablesOf(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, "utf8"));
  } catch {
    // It is a folder, or this user may not read it.
    return {};
  }
}
