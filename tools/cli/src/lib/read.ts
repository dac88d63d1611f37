import { constants, createReadStream, fstatSync, open } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { addAbortSignal, type Readable } from "node:stream";
import { isatty, ReadStream } from "node:tty";
import { promisify } from "node:util";
import type { Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";

/** The parts of a context that reading a file needs. */
export type InputContext = Pick<Context, "stdin" | "signal"> & Partial<Pick<Context, "note">>;

/** The size limit of a file, and of a line in a capture file, in MiB. */
export const mostMiB = 64;
export const mostBytes: number = mostMiB * 2 ** 20;

/** The size limit of a file with a secret or a key, in KiB. */
const mostSecretKiB = 64;

/** Resolves to the first `most` bytes of a response. Closes the connection if the response is longer. */
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

const openFile = promisify(open);

interface Input {
  readonly chunks: AsyncIterable<Buffer>;
  /** The size of a regular file, in bytes. Undefined for any other input. */
  readonly size: number | undefined;
}

/** Opens a file, or stdin if the path is `-`. Its chunks end with an AbortError after Ctrl-C. */
export async function openInput(path: string, { stdin, signal }: InputContext): Promise<Input> {
  if (path === "-") return { chunks: addAbortSignal<Readable>(signal, stdin), size: undefined };
  // Opens without blocking: a FIFO that nothing writes to would block a thread, and the process could not exit.
  const file = await openFile(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = fstatSync(file);
  const size = stats.isFile() ? stats.size : undefined;
  return { chunks: addAbortSignal(signal, streamOf(file, stats.isFIFO())), size };
}

function streamOf(file: number, isFifo: boolean): Readable {
  if (isFifo) return new Socket({ fd: file, writable: false });
  return isatty(file) ? new ReadStream(file) : createReadStream("", { fd: file });
}

/**
 * Reads the bytes of a file, or of stdin if the path is `-`.
 *
 * @param what the subject of error texts, such as `--body`
 * @throws UsageError (as a rejection) if the file cannot be read or is too large, AbortError after Ctrl-C
 */
const readInput = (what: string, path: string, context: InputContext): Promise<Buffer> =>
  readLimited(what, path, context, mostBytes, `${mostMiB} MiB`);

/** Reads a secret or a key like {@link readText}, but at most 64 KiB. */
export const readSecretText = async (
  what: string,
  path: string,
  context: InputContext,
): Promise<string> =>
  textOf(
    what,
    await readLimited(what, path, context, mostSecretKiB * 1_024, `${mostSecretKiB} KiB`),
  );

/** Reads the text of a file like {@link readInput}, without a byte order mark. */
export const readText = async (
  what: string,
  path: string,
  context: InputContext,
): Promise<string> => textOf(what, await readInput(what, path, context));

async function readLimited(
  what: string,
  path: string,
  context: InputContext,
  most: number,
  limit: string,
): Promise<Buffer> {
  const { stdin, signal, note } = context;
  if (path === "-" && stdin.isTTY === true)
    note?.(`Reading ${what} from the terminal; press Ctrl-D on a new line to finish.`);
  const read: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of (await openInput(path, context)).chunks) {
      read.push(chunk);
      bytes += chunk.length;
      if (bytes > most) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (isFolder(error)) throw new UsageError(`${path} is a folder.`, "Pass a file.");
    throw new UsageError(`${what} cannot be read: ${messageOf(error)}.`, "Check the path.");
  }
  if (bytes > most) throw tooLarge(what, path, limit);
  return Buffer.concat(read);
}

function tooLarge(what: string, path: string, limit: string): UsageError {
  if (path !== "-") return new UsageError(`${what} is larger than ${limit}.`, "Check the path.");
  const subject = what.replace(/^t/, "T");
  return new UsageError(`${subject} on stdin is larger than ${limit}.`, "Check the input.");
}

/** Returns whether an error means that a file could not be read because it is a folder. */
export const isFolder = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === "EISDIR";

/**
 * Decodes UTF-8, and removes a byte order mark.
 *
 * @param where the end of the error text, such as ` in line 2`
 * @throws UsageError if the bytes are not UTF-8, or if one is NUL, as in UTF-16 without a byte order mark
 */
export function textOf(what: string, bytes: Uint8Array, where = ""): string {
  const [first = 0, second = 0] = bytes;
  const isUtf16 = first + second === 0x1fd && Math.min(first, second) === 0xfe;
  if (isUtf16) throw new UsageError(`${what} is UTF-16.`, "Save it as UTF-8.");
  if (bytes.includes(0))
    throw new UsageError(
      `${what} is not UTF-8 text${where}: it contains a NUL byte.`,
      "Save it as UTF-8.",
    );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${what} is not UTF-8 text${where}.`, "Save it as UTF-8.");
  }
}

export const bodyOptions = {
  body: {
    type: "string",
    value: "file",
    isInput: true,
    text: "read the body from a file instead of stdin",
  },
} as const;

/** Reads the exact bytes of a body from `--body` or stdin. */
export const readBody = (context: Context<typeof bodyOptions>): Promise<Buffer> =>
  readInput(
    context.options.body === undefined ? "the body" : "--body",
    context.options.body ?? "-",
    context,
  );
