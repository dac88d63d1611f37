import type { Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";
import { isFolder, mostBytes, mostMiB, openInput, textOf } from "./read.js";

export interface Line {
  /** The line number, starting at 1. */
  readonly number: number;
  readonly text: string;
  /** The fraction of the file that has been read, from 0 to 1. Undefined if the size of the file is unknown. */
  readonly share: number | undefined;
}

/**
 * Yields the lines of a UTF-8 file, or of stdin if the path is `-`, until `signal` is aborted. Only the current line
 * must fit into memory. Counts blank lines, but does not yield them.
 *
 * @param what the subject of error texts, such as `The capture file`
 * @throws UsageError (as a rejection) if the file cannot be read, is not UTF-8 or has a line of more than 64 MiB
 */
export async function* linesOf(
  what: string,
  path: string,
  context: Pick<Context, "stdin" | "signal">,
): AsyncGenerator<Line> {
  let number = 0;
  let read = 0;
  let rest: Buffer[] = [];
  let bytes = 0;
  const add = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      throw new UsageError(
        `${what} has a line of more than ${mostMiB} MiB.`,
        "Use a file with one request per line.",
      );
    }
    rest.push(chunk);
  };
  const takeLine = (size: number | undefined): Line => {
    number += 1;
    const text = textOf(what, Buffer.concat(rest), ` in line ${number}`);
    rest = [];
    bytes = 0;
    return { number, text, share: size ? read / size : undefined };
  };
  try {
    const { chunks, size } = await openInput(path, context);
    for await (const chunk of chunks) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        add(chunk.subarray(start, end));
        read += end + 1 - start;
        start = end + 1;
        const line = takeLine(size);
        if (line.text.trim() !== "") yield line;
      }
      add(chunk.subarray(start));
      read += chunk.length - start;
    }
    const last = takeLine(size);
    if (last.text.trim() !== "") yield last;
  } catch (error) {
    if (context.signal.aborted) return;
    if (error instanceof UsageError) throw error;
    if (isFolder(error)) throw new UsageError(`${path} is a folder.`, "Pass a capture file.");
    throw new UsageError(`${what} cannot be read: ${messageOf(error)}.`, "Check the path.");
  }
}
