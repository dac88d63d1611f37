import { lstatSync, statSync } from "node:fs";
import { messageOf, UsageError } from "../errors.js";

/**
 * Refuses a symbolic link to a file: in a folder that others can write to, it could lead to any file of the user.
 * Allows links to pipes and terminals, such as `/dev/stdout`.
 *
 * @throws UsageError if writing to the path would create or change the file that a link leads to
 */
export function assertNotLinked(flag: string, path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const target = statSync(path, { throwIfNoEntry: false });
  if (target && !target.isFile()) return;
  throw new UsageError(`${flag} is a symbolic link.`, "Pass the path of the file itself.");
}

/** Returns the UsageError for a file that cannot be written, or the error itself if it is a UsageError already. */
export const notWritable = (flag: string, error: unknown): UsageError =>
  error instanceof UsageError
    ? error
    : new UsageError(`${flag} cannot be written: ${messageOf(error)}.`, "Check the path.");
