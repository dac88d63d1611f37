import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";
import { parseCaptured, useCaptureFile, type Captured } from "./capture.js";
import { linesOf } from "./lines.js";

export interface CapturedLine {
  readonly captured: Captured;
  /** The line number, starting at 1. */
  readonly line: number;
}

/**
 * Yields the requests of a capture file, or of stdin if the path is `-`.
 *
 * @throws UsageError (as a rejection) if the file cannot be read, has no requests or has a line that is not a request
 */
export async function* requestsIn(
  file: string,
  context: Pick<Context, "stdin" | "signal">,
): AsyncGenerator<CapturedLine> {
  const name = file === "-" ? "stdin" : file;
  let count = 0;
  for await (const { text, number } of linesOf("The capture file", file, context)) {
    const captured = parseCaptured(text);
    if (!captured) {
      throw new UsageError(
        `Line ${number} of ${name} is not a request written by listen --save.`,
        useCaptureFile,
      );
    }
    count += 1;
    yield { captured, line: number };
  }
  if (count === 0 && !context.signal.aborted) {
    throw new UsageError(`${name} contains no request.`, useCaptureFile);
  }
}

/**
 * Returns the paths of the `.jsonl` files in a folder, sorted by name. For a path that is not a folder, returns only
 * that path.
 *
 * @throws UsageError if the path cannot be read, or if the folder contains no `.jsonl` file
 */
export function filesAt(path: string): readonly string[] {
  if (path === "-") return [path];
  let names: readonly string[];
  try {
    if (!statSync(path).isDirectory()) return [path];
    names = readdirSync(path).filter((name) => name.endsWith(".jsonl"));
  } catch (error) {
    throw new UsageError(
      `The capture file cannot be read: ${messageOf(error)}.`,
      "Check the path.",
    );
  }
  if (names.length > 0) return names.toSorted().map((name) => join(path, name));
  throw new UsageError(
    `The folder ${path} contains no .jsonl file.`,
    "Save deliveries with svc-webhooks listen --save <folder>/deliveries.jsonl.",
  );
}
