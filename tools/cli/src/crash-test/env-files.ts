import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { addressOf } from "./addresses.js";

/**
 * Match the names of files that a server may read by itself, and, among them, of those that only show which variables
 * exist.
 */
const envFile = /^\.env(?:\..+)?$/;
const sample = /\.(?:example|sample|template|dist|vault)$/;

/** A file with variables that contain addresses. */
export interface EnvFile {
  readonly file: string;
  /** The names of the variables, and `unread` for lines that contain an address but are not assignments. */
  readonly names: readonly string[];
}

/**
 * Returns the `.env` files of a folder that contain addresses in variables that the server's environment lacks. Other
 * variables have no effect, because programs that read such a file do not replace variables that are already set.
 *
 * @param isSet returns whether the server's environment has the variable
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

/** Stands for a line that is not an assignment, because the line may contain secrets. */
const unread = "a line that could not be read";

/** The size limit of a file, in bytes. A larger file is not read, because it is probably not a file of variables. */
const mostBytes = 2 ** 20;

function textOf(path: string): string {
  try {
    const stats = statSync(path);
    // Reads only regular files, because a FIFO or a device may have no end.
    return stats.isFile() && stats.size <= mostBytes
      ? new TextDecoder().decode(readFileSync(path))
      : "";
  } catch {
    // A file that cannot be read, for example for lack of permission, counts as empty.
    return "";
  }
}

/** Matches the start of an assignment as dotenv and Docker Compose read it: `NAME=`, `NAME: ` or `export NAME=`. */
const start = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(?:=|:(?=[ \t]))[ \t]*/;

/** Matches a quoted value, which may have several lines. */
const quoted = /^(["'`])((?:\\.|(?!\1)[^\\])*)\1/s;

/**
 * Returns the assignments in a `.env` file. A line that is not an assignment has an empty name, and its text as the
 * value. `parseEnv` is not used, because in Node 20, it would join such a line to the next name.
 */
function assignmentsIn(text: string): readonly { readonly name: string; readonly value: string }[] {
  const assignments: { readonly name: string; readonly value: string }[] = [];
  let rest = text.replaceAll(/\r\n?/g, "\n");
  while (rest !== "") {
    const [head = "", name = ""] = start.exec(rest) ?? [];
    rest = rest.slice(head.length);
    const [, , inQuotes] = (name && quoted.exec(rest)) || [];
    const skipped = inQuotes === undefined ? 0 : inQuotes.length + 2;
    const end = rest.indexOf("\n", skipped);
    const line = end < 0 ? rest : rest.slice(0, end);
    assignments.push({ name, value: inQuotes ?? line.replace(/(?:^|\s)#.*/, "") });
    rest = end < 0 ? "" : rest.slice(end + 1);
  }
  return assignments;
}
