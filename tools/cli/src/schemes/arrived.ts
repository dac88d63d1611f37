import type { Context } from "../command.js";
import { UsageError } from "../errors.js";
import { parseCaptured, useCaptureFile } from "../lib/capture.js";
import { linesOf } from "../lib/lines.js";
import { wholeNumber } from "../lib/number.js";
import { bodyOptions, readBody } from "../lib/read.js";
import type { HeaderList } from "../lib/target.js";
import { timeOf } from "./time.js";

/** A request as it arrived from a sender. */
export interface Arrived {
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  /** The time of arrival, in epoch milliseconds. */
  readonly at: number;
}

export const arrivedOptions = {
  header: {
    type: "string",
    multiple: true,
    value: "line",
    text: "a header as it arrived, in the form 'Name: value', or several headers, one per line; may be repeated",
  },
  at: {
    type: "string",
    value: "time",
    text: "when the request arrived, in ISO 8601 or epoch seconds (default: the time in the capture file, or now)",
  },
  capture: {
    type: "string",
    value: "file",
    isInput: true,
    text: "read the request from a file written by listen --save",
  },
  line: {
    type: "string",
    default: "1",
    value: "number",
    text: "which line of the capture file to read",
  },
  ...bodyOptions,
} as const;

type ArrivedContext = Context<typeof arrivedOptions>;

/**
 * Reads a request from `--capture`, or from `--header` and the body. The time of arrival is that of `--at`, by default
 * that of the captured request, or now.
 *
 * @throws UsageError (as a rejection) unless exactly one of `--capture` and `--header` is given, and if an option or
 *   the input is invalid
 */
export async function readArrived(context: ArrivedContext): Promise<Arrived> {
  const { header, at, capture, body } = context.options;
  const time = at === undefined ? undefined : timeOf("--at", at);
  if (capture !== undefined) {
    if (header.length > 0 || body !== undefined) {
      throw new UsageError(
        "--capture already contains the headers and the body.",
        "Remove --header and --body, or --capture.",
      );
    }
    const captured = await capturedAt(context, capture);
    return { ...captured, at: time ?? captured.at };
  }
  if (header.length === 0) {
    throw new UsageError(
      "No header was given.",
      "Add --header 'Name: value' for each header of the sender, or --capture <file>.",
    );
  }
  // One value may contain several headers, because `sign` prints one header per line.
  const headers = header.flatMap((text) => text.split(/\r?\n/).filter(Boolean)).map(headerIn);
  return { headers, body: await readBody(context), at: time ?? Date.now() };
}

/** Parses a header of the form `Name: value`. Accepts any value, because the scheme checks it. */
function headerIn(text: string): HeaderList[number] {
  const [, name, value = ""] = /^([\w!#$%&'*+.^`|~-]{1,256}):[ \t]*([^]*?)[ \t]*$/.exec(text) ?? [];
  if (name !== undefined) return [name, value];
  throw new UsageError(
    "--header does not have the form 'Name: value'.",
    "Write it in quotes, as in --header 'Stripe-Signature: t=…,v1=…'.",
  );
}

async function capturedAt(context: ArrivedContext, file: string): Promise<Arrived> {
  const wanted = wholeNumber("--line", context.options.line, 1, 1_000_000_000);
  for await (const { number, text } of linesOf("The capture file", file, context)) {
    if (number < wanted) continue;
    if (number > wanted) break;
    const captured = parseCaptured(text);
    const at = Date.parse(captured?.at ?? "");
    if (captured && !Number.isNaN(at)) return { ...captured, at };
    throw new UsageError(
      `Line ${wanted} of the capture file is not a request written by listen --save.`,
      useCaptureFile,
    );
  }
  context.signal.throwIfAborted();
  throw new UsageError(
    `The capture file has no line ${wanted}.`,
    "Choose another line with --line.",
  );
}
