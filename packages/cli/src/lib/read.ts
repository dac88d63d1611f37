import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { addAbortSignal, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";

/** Reads stdin to its end. Rejects with an AbortError after Ctrl-C. */
export const readStdin = ({ stdin, signal }: Pick<Context, "stdin" | "signal">): Promise<Buffer> =>
  buffer(addAbortSignal<Readable>(signal, stdin));

/** Reads at most `most` bytes of a response. A longer response is cut, and its connection is closed. */
export async function readUpTo(
  most: number,
  response: IncomingMessage,
): Promise<{ readonly content: Buffer; readonly isCut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > most) break;
  }
  return { content: Buffer.concat(chunks).subarray(0, most), isCut: bytes > most };
}

/**
 * Reads a file.
 *
 * @throws UsageError (as a rejection) if the file cannot be read
 */
export async function readInput(flag: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${flag} cannot be read: ${messageOf(error)}.`, "Check the path.");
  }
}

export const bodyOptions = {
  body: { type: "string", value: "file", text: "read the body from a file instead of stdin" },
} as const;

/** Reads the exact bytes of a body from `--body` or stdin. */
export async function readBody({
  options,
  stdin,
  signal,
  note,
}: Context<typeof bodyOptions>): Promise<Buffer> {
  if (options.body !== undefined) return readInput("--body", options.body);
  if (stdin.isTTY === true) note("Reading the body from the terminal; press Ctrl-D to finish.");
  return readStdin({ stdin, signal });
}
