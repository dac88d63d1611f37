import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { addressOf } from "./addresses.js";

/** Files that a server may read itself, without those that only show which variables there are. */
const envFile = /^\.env(?:\..+)?$/;
const sample = /\.(?:example|sample|template|dist|vault)$/;

/** A file with variables that contain addresses. */
export interface EnvFile {
  readonly file: string;
  /** The names, and `unread` for lines with an address that are not assignments. */
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
    const names = assignmentsIn(textOf(join(folder, file)))
      .filter(({ name, value }) => !isSet(name) && addressOf(name, value) !== undefined)
      .map(({ name }) => name || unread);
    return names.length === 0 ? [] : [{ file, names: Array.from(new Set(names)) }];
  });
}

/** Stands for the name of a line that may consist of secrets. */
const unread = "a line that could not be read";

/** The size of a larger file shows that it has another purpose. */
const mostBytes = 2 ** 20;

function textOf(path: string): string {
  try {
    const stats = statSync(path);
    // A FIFO or a device may have no end.
    return stats.isFile() && stats.size <= mostBytes
      ? new TextDecoder().decode(readFileSync(path))
      : "";
  } catch {
    // A file that this user has no permission to read counts as empty.
    return "";
  }
}

/** The start of an assignment, as dotenv and Docker Compose read it: `NAME=`, `NAME: ` or `export NAME=`. */
const start = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(?:=|:(?=[ \t]))[ \t]*/;

/** A quoted value, which may have several lines. */
const quoted = /^(["'`])((?:\\.|(?!\1)[^\\])*)\1/s;

/**
 * Returns the assignments of a `.env` file. A line that is not an assignment is returned with an empty name, and its
 * text as the value: `parseEnv` of Node 20 would join it to the next name.
 */
function assignmentsIn(text: string): readonly { readonly name: string; readonly value: string }[] {
  const found: { readonly name: string; readonly value: string }[] = [];
  let rest = text.replaceAll(/\r\n?/g, "\n");
  while (rest !== "") {
    const [head = "", name = ""] = start.exec(rest) ?? [];
    rest = rest.slice(head.length);
    const [, , inQuotes] = (name && quoted.exec(rest)) || [];
    const skipped = inQuotes === undefined ? 0 : inQuotes.length + 2;
    const end = rest.indexOf("\n", skipped);
    const line = end < 0 ? rest : rest.slice(0, end);
    found.push({ name, value: inQuotes ?? line.replace(/(?:^|\s)#.*/, "") });
    rest = end < 0 ? "" : rest.slice(end + 1);
  }
  return found;
}
