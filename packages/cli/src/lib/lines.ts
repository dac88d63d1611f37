import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import type { Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";

export interface Line {
  /** The line number, starting at 1. */
  readonly number: number;
  readonly text: string;
  /** The fraction of the file that has been read, 0 … 1. Undefined if its size is unknown. */
  readonly share: number | undefined;
}

/**
 * Yields the lines of a file, or of stdin if the path is `-`, until `signal` is aborted. Reads line by line, so the
 * size does not matter. Skips empty lines.
 *
 * @throws UsageError (as a rejection) if the file cannot be read
 */
export async function* linesOf(
  what: string,
  path: string,
  { stdin, signal }: Pick<Context, "stdin" | "signal">,
): AsyncGenerator<Line> {
  let number = 0;
  let read = 0;
  let rest: Buffer[] = [];
  const line = (size: number | undefined): Line => {
    number += 1;
    const text = Buffer.concat(rest).toString("utf8");
    rest = [];
    return { number, text, share: size ? read / size : undefined };
  };
  try {
    const isStdin = path === "-";
    const size = isStdin ? undefined : (await stat(path)).size;
    const stream = isStdin ? addAbortSignal<Readable>(signal, stdin) : createReadStream(path);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        rest.push(chunk.subarray(start, end));
        read += end + 1 - start;
        start = end + 1;
        const one = line(size);
        if (one.text.trim() !== "") yield one;
      }
      rest.push(chunk.subarray(start));
      read += chunk.length - start;
    }
    const last = line(size);
    if (last.text.trim() !== "") yield last;
  } catch (error) {
    if (signal.aborted) return;
    throw new UsageError(`${what} cannot be read: ${messageOf(error)}.`, "Check the path.");
  }
}
